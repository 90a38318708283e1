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
