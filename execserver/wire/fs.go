package wire

// FSReadFileParams ask for a whole file.
type FSReadFileParams struct {
	Path           URI             `json:"path" wire:"required"`
	FollowSymlinks *bool           `json:"followSymlinks,omitempty"` // nil: true
	Sandbox        *SandboxContext `json:"sandbox,omitempty"`
}

// FSReadFileResult is a whole file.
type FSReadFileResult struct {
	Data []byte `json:"dataBase64"`
}

// FSWriteFileParams replace a file's content, and make it when it is missing.
type FSWriteFileParams struct {
	Path URI `json:"path" wire:"required"`
	// DataBase64 is not decoded here: bad base64 is an error of the method, see
	// DecodeBase64.
	DataBase64     string          `json:"dataBase64" wire:"required"`
	FollowSymlinks *bool           `json:"followSymlinks,omitempty"`
	Sandbox        *SandboxContext `json:"sandbox,omitempty"`
}

// FSCreateDirectoryParams make a folder.
type FSCreateDirectoryParams struct {
	Path      URI             `json:"path" wire:"required"`
	Recursive *bool           `json:"recursive,omitempty"` // nil: true
	Sandbox   *SandboxContext `json:"sandbox,omitempty"`
}

// FSGetMetadataParams ask what a path is.
type FSGetMetadataParams struct {
	Path           URI             `json:"path" wire:"required"`
	FollowSymlinks *bool           `json:"followSymlinks,omitempty"`
	Sandbox        *SandboxContext `json:"sandbox,omitempty"`
}

// FSMetadata is what a path is. Kind, size and times are the target's of a
// link.
type FSMetadata struct {
	IsDirectory  bool   `json:"isDirectory"`
	IsFile       bool   `json:"isFile"`
	IsSymlink    bool   `json:"isSymlink"`
	Size         uint64 `json:"size"`
	CreatedAtMs  int64  `json:"createdAtMs"` // 0: the file system does not tell
	ModifiedAtMs int64  `json:"modifiedAtMs"`
}

// FSCanonicalizeParams ask for a path without links.
type FSCanonicalizeParams struct {
	Path    URI             `json:"path" wire:"required"`
	Sandbox *SandboxContext `json:"sandbox,omitempty"`
}

// FSCanonicalizeResult is a path without links.
type FSCanonicalizeResult struct {
	Path URI `json:"path"`
}

// FSReadDirectoryParams ask for the entries of a folder.
type FSReadDirectoryParams struct {
	Path    URI             `json:"path" wire:"required"`
	Sandbox *SandboxContext `json:"sandbox,omitempty"`
}

// FSReadDirectoryResult is the entries of a folder, in no order.
type FSReadDirectoryResult struct {
	Entries []FSDirEntry `json:"entries"`
}

// FSDirEntry is one entry of a folder.
type FSDirEntry struct {
	FileName    string `json:"fileName"`
	IsDirectory bool   `json:"isDirectory"`
	IsFile      bool   `json:"isFile"`
}

// FSWalkParams ask for what is below a folder.
type FSWalkParams struct {
	Path    URI             `json:"path" wire:"required"`
	Options FSWalkOptions   `json:"options" wire:"required"`
	Sandbox *SandboxContext `json:"sandbox,omitempty"`
}

// FSWalkOptions bound a walk.
type FSWalkOptions struct {
	MaxDepth                uint `json:"maxDepth" wire:"required"`
	MaxDirectories          uint `json:"maxDirectories" wire:"required"`
	MaxEntries              uint `json:"maxEntries" wire:"required"`
	FollowDirectorySymlinks bool `json:"followDirectorySymlinks" wire:"required"`
	PruneHiddenDirectories  bool `json:"pruneHiddenDirectories"`
}

// FSWalkResult is what a walk found.
type FSWalkResult struct {
	Entries   []FSWalkEntry `json:"entries"`
	Errors    []FSWalkError `json:"errors"`
	Truncated bool          `json:"truncated"`
}

// FSWalkEntry is one file or folder.
type FSWalkEntry struct {
	Path URI    `json:"path"`
	Kind FSKind `json:"kind"`
}

// FSKind is what a walk tells apart.
type FSKind string

// The kinds.
const (
	FSFile      FSKind = "file"
	FSDirectory FSKind = "directory"
)

// FSWalkError is a folder that could not be read.
type FSWalkError struct {
	Path    URI    `json:"path"`
	Message string `json:"message"`
}

// FSRemoveParams remove a file, a link or a tree. The answer is Empty.
type FSRemoveParams struct {
	Path           URI             `json:"path" wire:"required"`
	Recursive      *bool           `json:"recursive,omitempty"` // nil: true
	Force          *bool           `json:"force,omitempty"`     // nil: true; a missing path is no error
	FollowSymlinks *bool           `json:"followSymlinks,omitempty"`
	Sandbox        *SandboxContext `json:"sandbox,omitempty"`
}

// FSCopyParams copy a file, a link or a tree. The answer is Empty.
type FSCopyParams struct {
	SourcePath      URI             `json:"sourcePath" wire:"required"`
	DestinationPath URI             `json:"destinationPath" wire:"required"`
	Recursive       bool            `json:"recursive" wire:"required"`
	Sandbox         *SandboxContext `json:"sandbox,omitempty"`
}

// FSOpenMode is what a file is opened for.
type FSOpenMode string

// The modes.
const (
	FSOpenRead    FSOpenMode = "read"
	FSOpenReplace FSOpenMode = "replace" // made or emptied at once
)

func (FSOpenMode) variants() []string { return []string{"read", "replace"} }

// FSOpenParams open a file under a name of the client's.
type FSOpenParams struct {
	HandleID string          `json:"handleId" wire:"required"`
	Path     URI             `json:"path" wire:"required"`
	Mode     FSOpenMode      `json:"mode,omitempty"` // "": read
	Sandbox  *SandboxContext `json:"sandbox,omitempty"`
}

// FSOpenResult answers fs/open.
type FSOpenResult struct {
	HandleID string `json:"handleId"`
}

// FSReadBlockParams ask for a piece of an open file.
type FSReadBlockParams struct {
	HandleID string `json:"handleId" wire:"required"`
	Offset   uint64 `json:"offset" wire:"required"`
	Len      uint   `json:"len" wire:"required"` // 1 to MaxReadBlock
}

// FSReadBlockResult is a piece of a file.
type FSReadBlockResult struct {
	Chunk []byte `json:"chunk"`
	EOF   bool   `json:"eof"` // fewer than Len bytes were left
}

// FSWriteBlockParams write into an open file. The answer is Empty.
type FSWriteBlockParams struct {
	HandleID string `json:"handleId" wire:"required"`
	Offset   uint64 `json:"offset" wire:"required"`
	Chunk    []byte `json:"chunk" wire:"required"`
}

// FSCloseParams close an open file. The answer is Empty, also without an open file.
type FSCloseParams struct {
	HandleID string `json:"handleId" wire:"required"`
}

// FSWatchMissingParams ask to be told, once, when one of the missing paths
// appears or the present one changes. Ids of a connection grow; a greater one
// ends the watch before it.
type FSWatchMissingParams struct {
	WatchID uint64 `json:"watchId" wire:"required"`
	Missing []URI  `json:"missing" wire:"required"`
	Present *URI   `json:"present"`
}

// FSWatchMissingResult answers fs/watchMissing.
type FSWatchMissingResult struct {
	Watching bool `json:"watching"`
}

// FSMissingChanged is the params of fs/missingChanged.
type FSMissingChanged struct {
	WatchID uint64 `json:"watchId"`
}
