package wire

import "encoding/json"

// SandboxContext is what confines a process or an access to files.
type SandboxContext struct {
	Permissions                     Permissions         `json:"permissions" wire:"required"`
	WindowsSandboxLevel             WindowsSandboxLevel `json:"windowsSandboxLevel" wire:"required"`
	Cwd                             *URI                `json:"cwd,omitempty"`
	WorkspaceRoots                  []URI               `json:"workspaceRoots,omitempty"`
	WindowsSandboxProxySettingsMode *ProxySettingsMode  `json:"windowsSandboxProxySettingsMode,omitempty"`
	WindowsSandboxPrivateDesktop    bool                `json:"windowsSandboxPrivateDesktop,omitempty"`
	UseLegacyLandlock               bool                `json:"useLegacyLandlock,omitempty"`
	PolicyContext                   *PolicyContext      `json:"policyContext,omitempty"`
	UserHomeDir                     *URI                `json:"userHomeDir,omitempty"`
}

// PolicyContext is where the special paths of a policy are.
type PolicyContext struct {
	Cwd            *URI  `json:"cwd,omitempty"`
	WorkspaceRoots []URI `json:"workspaceRoots,omitempty"`
}

// WindowsSandboxLevel is how commands are confined on Windows.
type WindowsSandboxLevel string

func (WindowsSandboxLevel) variants() []string {
	return []string{"disabled", "restricted-token", "elevated", "mxc"}
}

// ProxySettingsMode is about proxies on Windows.
type ProxySettingsMode string

func (ProxySettingsMode) variants() []string { return []string{"reconcile", "preserve"} }

// PermissionsType says by whom a command is confined.
type PermissionsType string

// The types.
const (
	PermissionsManaged  PermissionsType = "managed"  // the server
	PermissionsDisabled PermissionsType = "disabled" // it is not confined
	PermissionsExternal PermissionsType = "external" // by the environment of the server
)

func (PermissionsType) variants() []string { return []string{"managed", "disabled", "external"} }

// NetworkAccess is whether the network may be used.
type NetworkAccess string

// The accesses.
const (
	NetworkRestricted NetworkAccess = "restricted"
	NetworkEnabled    NetworkAccess = "enabled"
)

func (NetworkAccess) variants() []string { return []string{"restricted", "enabled"} }

// Permissions are what is allowed.
type Permissions struct {
	Type       PermissionsType        `json:"type" wire:"required"`
	Network    NetworkAccess          `json:"network,omitempty" wire:"null"` // managed and external
	FileSystem *FileSystemPermissions `json:"file_system,omitempty"`         // managed
}

func (p *Permissions) check() error {
	switch {
	case p.Type == PermissionsManaged && p.FileSystem == nil:
		return missing("file_system")
	case p.Type != PermissionsDisabled && p.Network == "":
		return missing("network")
	}
	return nil
}

// FileSystemType is whether files are confined.
type FileSystemType string

// The types.
const (
	FileSystemUnrestricted FileSystemType = "unrestricted"
	FileSystemRestricted   FileSystemType = "restricted"
)

func (FileSystemType) variants() []string { return []string{"restricted", "unrestricted"} }

// FileSystemPermissions are what is allowed with files. With Restricted, what
// no entry names is denied.
type FileSystemPermissions struct {
	Type    FileSystemType    `json:"type" wire:"required"`
	Entries []PermissionEntry `json:"entries,omitzero" wire:"null"`
}

func (f *FileSystemPermissions) check() error {
	if f.Entries == nil && f.Type == FileSystemRestricted {
		return missing("entries")
	}
	return nil
}

// MarshalJSON implements json.Marshaler. Restricted without entries, which
// denies everything, is written with an empty list: a server refuses it without
// one.
func (f FileSystemPermissions) MarshalJSON() ([]byte, error) {
	type plain FileSystemPermissions
	if f.Type == FileSystemRestricted && f.Entries == nil {
		f.Entries = []PermissionEntry{}
	}
	return json.Marshal(plain(f))
}

// Access is what an entry allows.
type Access string

// The accesses.
const (
	AccessRead  Access = "read"
	AccessWrite Access = "write" // and read
	AccessDeny  Access = "deny"
	AccessNone  Access = "none"
)

func (Access) variants() []string { return []string{"read", "write", "deny", "none"} }

// MissingPathBehavior is what to do with an entry whose path is not there.
type MissingPathBehavior string

// MissingSkip passes over the entry.
const MissingSkip MissingPathBehavior = "skip"

func (MissingPathBehavior) variants() []string { return []string{"skip"} }

// PermissionEntry allows or denies something with a path.
type PermissionEntry struct {
	Path                PermissionPath       `json:"path" wire:"required"`
	Access              Access               `json:"access" wire:"required"`
	MissingPathBehavior *MissingPathBehavior `json:"missing_path_behavior,omitempty"`
}

// PermissionPathType is how an entry names its path.
type PermissionPathType string

// The types.
const (
	PathPlain   PermissionPathType = "path"
	PathGlob    PermissionPathType = "glob_pattern"
	PathSpecial PermissionPathType = "special"
)

func (PermissionPathType) variants() []string { return []string{"path", "glob_pattern", "special"} }

// PermissionPath is the path of an entry.
type PermissionPath struct {
	Type    PermissionPathType
	Path    string // plain: as it came, a path or a file: URI; see Native
	Pattern string // glob_pattern
	Special SpecialPath
}

// Native is a plain path on this system.
func (p *PermissionPath) Native() (string, *Error) {
	if len(p.Path) > 0 && p.Path[0] == '/' {
		return p.Path, nil
	}
	u, err := ParseURI(p.Path)
	if err != nil {
		return "", InvalidParams("%s", err)
	}
	return u.Native()
}

type permissionPathWire struct {
	Type    PermissionPathType `json:"type" wire:"required"`
	Path    *string            `json:"path,omitempty"`
	Pattern *string            `json:"pattern,omitempty"`
	Value   *SpecialPath       `json:"value,omitempty"`
}

func (p *PermissionPath) decodeWire(raw []byte) error {
	if len(raw) == 0 || raw[0] != '{' {
		return wrongType(raw, "internally tagged enum FileSystemPath")
	}
	var w permissionPathWire
	if err := decodeInto(raw, &w); err != nil {
		return err
	}
	p.Type = w.Type
	switch {
	case w.Type == PathPlain && w.Path == nil:
		return missing("path")
	case w.Type == PathGlob && w.Pattern == nil:
		return missing("pattern")
	case w.Type == PathSpecial && w.Value == nil:
		return missing("value")
	case w.Type == PathPlain:
		if _, err := ParseURI(*w.Path); err != nil {
			return err
		}
		p.Path = *w.Path
	case w.Type == PathGlob:
		p.Pattern = *w.Pattern
	default:
		p.Special = *w.Value
	}
	return nil
}

// MarshalJSON implements json.Marshaler.
func (p PermissionPath) MarshalJSON() ([]byte, error) {
	w := permissionPathWire{Type: p.Type}
	switch p.Type {
	case PathPlain:
		w.Path = &p.Path
	case PathGlob:
		w.Pattern = &p.Pattern
	default:
		w.Value = &p.Special
	}
	return json.Marshal(w)
}

// SpecialKind is a path that is known by what it is for.
type SpecialKind string

// The kinds.
const (
	SpecialRoot         SpecialKind = "root"
	SpecialMinimal      SpecialKind = "minimal" // what programs need to run at all
	SpecialCwd          SpecialKind = "current_working_directory"
	SpecialProjectRoots SpecialKind = "project_roots"
	SpecialTmpdir       SpecialKind = "tmpdir"    // $TMPDIR
	SpecialSlashTmp     SpecialKind = "slash_tmp" // /tmp
	SpecialUnknown      SpecialKind = "unknown"
)

func (SpecialKind) variants() []string {
	return []string{"root", "minimal", "current_working_directory", "project_roots", "tmpdir", "slash_tmp", "unknown"}
}

// SpecialPath is a special path, or something below it.
type SpecialPath struct {
	Kind    SpecialKind `json:"kind" wire:"required"`
	Subpath *string     `json:"subpath,omitempty"`
}
