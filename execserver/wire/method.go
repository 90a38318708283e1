package wire

// Methods of a client, in order of their families.
const (
	MethodInitialize        = "initialize"
	MethodEnvironmentInfo   = "environment/info"
	MethodEnvironmentStatus = "environment/status"

	MethodProcessStart     = "process/start"
	MethodProcessRead      = "process/read"
	MethodProcessWrite     = "process/write"
	MethodProcessSignal    = "process/signal"
	MethodProcessTerminate = "process/terminate"

	MethodFSReadFile        = "fs/readFile"
	MethodFSWriteFile       = "fs/writeFile"
	MethodFSCreateDirectory = "fs/createDirectory"
	MethodFSGetMetadata     = "fs/getMetadata"
	MethodFSCanonicalize    = "fs/canonicalize"
	MethodFSReadDirectory   = "fs/readDirectory"
	MethodFSWalk            = "fs/walk"
	MethodFSRemove          = "fs/remove"
	MethodFSCopy            = "fs/copy"
	MethodFSOpen            = "fs/open"
	MethodFSReadBlock       = "fs/readBlock"
	MethodFSWriteBlock      = "fs/writeBlock"
	MethodFSClose           = "fs/close"
	MethodFSWatchMissing    = "fs/watchMissing"

	MethodHTTPRequest = "http/request"
)

// Methods of extensions; see [Extension].
const (
	MethodProcessList       = "process/list"
	MethodProcessResize     = "process/resize"
	MethodProcessCloseStdin = "process/closeStdin"
	MethodProcessAttach     = "process/attach"
	MethodProcessDetach     = "process/detach"
	MethodHTTPCancel        = "http/cancel"
	MethodSessionKeep       = "session/keep"
)

// Notifications.
const (
	NotifyInitialized    = "initialized" // the only one of a client
	NotifyProcessOutput  = "process/output"
	NotifyProcessExited  = "process/exited"
	NotifyProcessClosed  = "process/closed"
	NotifyFSAppeared     = "fs/missingChanged"
	NotifyHTTPBodyDelta  = "http/request/bodyDelta"
	NotifyProcessOutLost = "process/outputLost" // extension: to observers that were too slow
)

// Extension names, in InitializeParams.Extensions and InitializeResult.Extensions.
const (
	ExtProcessList       = "process/list"
	ExtProcessResize     = "process/resize"     // also ProcessStartParams.Size
	ExtProcessCloseStdin = "process/closeStdin" //
	ExtProcessGrace      = "process/terminate.grace"
	ExtProcessAttach     = "process/attach" // also process/detach and ProcessStartResult.AttachToken
	ExtHTTPCancel        = "http/cancel"
	ExtProcessPolicy     = "process/start.policy"
	ExtSessionKeep       = "session/keep" // also ProcessStartParams.WhenFull
	// ExtAll in a request stands for all that there are.
	ExtAll = "*"
)

// Extensions are all of them, as a server lists them.
func Extensions() []string {
	return []string{ExtProcessList, ExtProcessResize, ExtProcessCloseStdin, ExtProcessGrace, ExtProcessAttach, ExtHTTPCancel, ExtProcessPolicy, ExtSessionKeep}
}

// Family is what a method belongs to, in the words of the errors that tell a
// client to initialize first.
type Family string

// The families.
const (
	FamilyNone              Family = "" // initialize itself, and unknown methods
	FamilyExec              Family = "exec"
	FamilyFilesystem        Family = "filesystem"
	FamilyHTTP              Family = "http"
	FamilyEnvironmentInfo   Family = "environment info"
	FamilyEnvironmentStatus Family = "environment status"
)

// families has every method that needs no extension.
var families = map[string]Family{
	MethodInitialize:        FamilyNone,
	MethodEnvironmentInfo:   FamilyEnvironmentInfo,
	MethodEnvironmentStatus: FamilyEnvironmentStatus,
	MethodProcessStart:      FamilyExec,
	MethodProcessRead:       FamilyExec,
	MethodProcessWrite:      FamilyExec,
	MethodProcessSignal:     FamilyExec,
	MethodProcessTerminate:  FamilyExec,
	MethodFSReadFile:        FamilyFilesystem,
	MethodFSWriteFile:       FamilyFilesystem,
	MethodFSCreateDirectory: FamilyFilesystem,
	MethodFSGetMetadata:     FamilyFilesystem,
	MethodFSCanonicalize:    FamilyFilesystem,
	MethodFSReadDirectory:   FamilyFilesystem,
	MethodFSWalk:            FamilyFilesystem,
	MethodFSRemove:          FamilyFilesystem,
	MethodFSCopy:            FamilyFilesystem,
	MethodFSOpen:            FamilyFilesystem,
	MethodFSReadBlock:       FamilyFilesystem,
	MethodFSWriteBlock:      FamilyFilesystem,
	MethodFSClose:           FamilyFilesystem,
	MethodFSWatchMissing:    FamilyFilesystem,
	MethodHTTPRequest:       FamilyHTTP,
}

// extensionMethods has the others.
var extensionMethods = map[string]Family{
	MethodProcessList:       FamilyExec,
	MethodProcessResize:     FamilyExec,
	MethodProcessCloseStdin: FamilyExec,
	MethodProcessAttach:     FamilyExec,
	MethodProcessDetach:     FamilyExec,
	MethodHTTPCancel:        FamilyHTTP,
	MethodSessionKeep:       FamilyExec,
}

// FamilyOf says whether there is a method, and its family. Those of extensions
// are there with ext alone.
func FamilyOf(method string, ext bool) (Family, bool) {
	f, ok := families[method]
	if !ok && ext {
		f, ok = extensionMethods[method]
	}
	return f, ok
}

// Limits of the protocol.
const (
	MaxFrame         = 16 << 20 // bytes of one incoming WebSocket frame that every server accepts
	MaxMessage       = 64 << 20 // bytes of one incoming message
	ChunkBytes       = 8 << 10  // bytes of output in one process/output
	RetainBytes      = 1 << 20  // bytes of output that are kept per process
	RetainChunks     = 50_000   // chunks of output that are kept per process
	RetainSeconds    = 80       // for a detached session, and for a process that is closed
	MaxReadFile      = 512 << 20
	MaxReadBlock     = 1 << 20
	MaxFileHandles   = 128 // per connection
	MaxHTTPDelta     = 1 << 20
	RememberedWrites = 4096 // write ids per process
	PingSeconds      = 30
)
