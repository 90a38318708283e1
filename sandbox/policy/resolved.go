package policy

// Access is a bit set of what a grant allows.
type Access uint8

// The kinds of access. Exec and Write include Read.
const (
	Read  Access = 1
	Exec  Access = 2 | Read
	Write Access = 4 | Read
)

// Has reports whether a includes all of b.
func (a Access) Has(b Access) bool { return a&b == b }

// String returns the fields of a policy that give the access: "read", "exec",
// "write" or "exec+write".
func (a Access) String() string {
	switch {
	case a.Has(Exec) && a.Has(Write):
		return "exec+write"
	case a.Has(Exec):
		return "exec"
	case a.Has(Write):
		return "write"
	case a.Has(Read):
		return "read"
	}
	return "none"
}

// Resolved is a policy applied to this machine at one moment.
type Resolved struct {
	// Policy is the resolved policy, with its defaults filled in
	// ([Policy.WithDefaults]) and the links in Work.Path followed.
	Policy Policy
	Limits Limits

	// Grants lists the accessible paths, parents before children, each once.
	// Grants add up: a grant below another one has its access too.
	Grants []Grant
	// Denied overrides Grants. It lists only paths within a grant, parents before
	// children; other paths are not accessible anyway.
	Denied []Denied

	// UID and GID are the user and group that Policy.User names; -1 when they are
	// chosen later ("auto" as root) or stay unchanged (not root).
	UID, GID int
	// Groups lists the other groups of the user that Policy.User names, by
	// /etc/group, sorted; never a group of root.
	Groups []int

	// PrivateTmp reports whether /tmp is a new file system bounded by Policy.Tmp. It
	// is false when the policy grants the machine's own /tmp or a parent of it.
	PrivateTmp bool

	// RefusedSyscalls lists the system calls that are refused whatever their
	// arguments, sorted by name: the list of this package, without the calls that the
	// policy allows and with those that it denies. Calls that are refused only for
	// some arguments, or at some levels, are not in it unless the policy denies
	// them as a whole; see Resolved.SyscallRules.
	RefusedSyscalls []string
}

// Grant makes one path and everything below it accessible.
type Grant struct {
	Path   string // absolute and clean; no part of its folder is a symbolic link
	Access Access // its own and that of the grants around it
	Dir    bool
	Device bool   // a character device, from Policy.Devices
	Link   string // Path is a symbolic link with this text; its target has its own grant
	Field  string // "read[0]"; the first when several fields grant the path
	// ReadOnly marks a read-only part of a writable grant.
	ReadOnly bool
	// Pinned is, for a ReadOnly grant, what Denied.Pinned is for a Denied.
	Pinned []string

	// Device number and inode of Path as found, and its owner; zero for a link.
	// A start that finds something else at Path must fail.
	Node, Inode uint64
	UID, GID    int
}

// Denied is one path that is not accessible, with everything below it.
type Denied struct {
	Path    string // absolute and clean; no part of its folder is a symbolic link
	Missing bool   // it does not exist and must not be created
	Absent  bool   // the process must see an empty folder
	Dir     bool
	Link    bool   // a symbolic link; its target is denied too
	Closed  string // why Path cannot be searched; it is denied as a whole, because denied files may be in it or be created in it
	Pattern string // the glob that it matched; "" for a literal path
	Field   string // "deny[2]"
	// Anchor is the part of Path that must be covered: Path itself, or if Path is
	// missing the first part of it that is.
	Anchor string
	// Pinned lists the folders between the writable grant and Anchor, outermost
	// first, without either: if one of them were renamed, the path would no longer
	// be covered. Empty when nothing there can be written.
	Pinned []string
}
