package wire

// What follows are params and results of extensions.

// ProcessListResult answers process/list, which takes no params.
type ProcessListResult struct {
	Processes []ProcessInfo `json:"processes"`
}

// ProcessInfo is one process of the session.
type ProcessInfo struct {
	ProcessID     string   `json:"processId"`
	PID           int      `json:"pid"`
	Argv          []string `json:"argv"`
	Cwd           URI      `json:"cwd"`
	TTY           bool     `json:"tty"`
	StartedAtMs   int64    `json:"startedAtMs"`
	Exited        bool     `json:"exited"`
	ExitCode      *int32   `json:"exitCode"`
	Closed        bool     `json:"closed"`
	NextSeq       uint64   `json:"nextSeq"`
	RetainedBytes int      `json:"retainedBytes"`
	Lost          *Lost    `json:"lost,omitempty"`
	AttachToken   string   `json:"attachToken"`
}

// ProcessResizeParams set the size of a process's terminal. The answer is Empty.
type ProcessResizeParams struct {
	ProcessID string `json:"processId" wire:"required"`
	Rows      uint16 `json:"rows" wire:"required"`
	Cols      uint16 `json:"cols" wire:"required"`
}

// ProcessCloseStdinParams end a process's input once everything written before
// has been taken. A process with a terminal gets its end-of-file character.
type ProcessCloseStdinParams struct {
	ProcessID string `json:"processId" wire:"required"`
}

// ProcessAttachParams make this connection an observer of a process, also of
// another session's. From the answer on, process/output, process/exited and
// process/closed come with AttachID as their processId: first what is retained
// after AfterSeq, then new events. An observer does not slow the process down: one
// that is too slow gets process/outputLost.
type ProcessAttachParams struct {
	AttachID string  `json:"attachId" wire:"required"` // must not be a process id of this session
	Token    string  `json:"token" wire:"required"`
	AfterSeq *uint64 `json:"afterSeq"`
}

// ProcessAttachResult answers process/attach.
type ProcessAttachResult struct {
	AttachID string      `json:"attachId"`
	Process  ProcessInfo `json:"process"`
}

// ProcessDetachParams end an observation. The answer is Empty, also without an
// observation.
type ProcessDetachParams struct {
	AttachID string `json:"attachId" wire:"required"`
}

// OutputLost is the params of process/outputLost: chunks before NextSeq did not
// reach this observer.
type OutputLost struct {
	ProcessID string `json:"processId"`
	NextSeq   uint64 `json:"nextSeq"`
	Bytes     uint64 `json:"bytes"`
}

// SessionKeepParams say how long the session lives without a connection from now
// on; 0 ends it with its connection.
type SessionKeepParams struct {
	KeepMs uint64 `json:"keepMs" wire:"required"`
}

// SessionKeepResult answers session/keep with how long it will be, which the
// server bounds.
type SessionKeepResult struct {
	KeepMs uint64 `json:"keepMs"`
}

// HTTPCancelParams name an http/request of this connection.
type HTTPCancelParams struct {
	RequestID string `json:"requestId" wire:"required"`
}

// HTTPCancelResult answers http/cancel.
type HTTPCancelResult struct {
	Cancelled bool `json:"cancelled"` // it was under way
}
