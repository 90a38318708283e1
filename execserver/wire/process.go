package wire

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Stream is which output of a process a chunk is of.
type Stream string

// The streams.
const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
	PTY    Stream = "pty" // both, of a process with a terminal
)

func (Stream) variants() []string { return []string{"stdout", "stderr", "pty"} }

// ProcessStartParams say what to run.
type ProcessStartParams struct {
	ProcessID             string            `json:"processId" wire:"required"` // any; unique in the session
	Argv                  []string          `json:"argv" wire:"required"`      // not empty
	Cwd                   URI               `json:"cwd" wire:"required"`
	EnvPolicy             *EnvPolicy        `json:"envPolicy,omitempty"` // nil: Env alone
	Env                   map[string]string `json:"env" wire:"required"` // laid over what EnvPolicy makes
	TTY                   bool              `json:"tty" wire:"required"`
	PipeStdin             bool              `json:"pipeStdin,omitempty"`
	Arg0                  *string           `json:"arg0,omitempty"`
	Sandbox               *SandboxContext   `json:"sandbox,omitempty"`
	EnforceManagedNetwork bool              `json:"enforceManagedNetwork,omitempty"`
	ManagedNetwork        *ManagedNetwork   `json:"managedNetwork,omitempty"`
	NetworkProxy          json.RawMessage   `json:"networkProxy,omitempty"`
	Metadata              *ProcessMetadata  `json:"metadata,omitempty"`
	ShellSnapshot         *ShellSnapshot    `json:"shellSnapshot,omitempty"`
	// Size of the terminal; nil is 24 by 80. ExtProcessResize.
	Size *TerminalSize `json:"size,omitempty" wire:"ext"`
	// WhenFull is "pause" or "drop": what happens to the process when no client
	// is connected and no more of its output can be retained; nil leaves it to the
	// server. ExtSessionKeep.
	WhenFull *string `json:"whenFull,omitempty" wire:"ext"`
	// Policy is a policy of hostsup's own that confines the process, in place of
	// Sandbox: a JSON object with policy and limits. ExtProcessPolicy.
	Policy json.RawMessage `json:"policy,omitempty" wire:"ext"`
}

// TerminalSize is the size of a terminal in characters.
type TerminalSize struct {
	Rows uint16 `json:"rows" wire:"required"`
	Cols uint16 `json:"cols" wire:"required"`
}

// Inherit is how much of the server's own environment a process gets.
type Inherit string

// The ways to inherit.
const (
	InheritAll  Inherit = "all"
	InheritCore Inherit = "core" // HOME, PATH and the like
	InheritNone Inherit = "none"
)

func (Inherit) variants() []string { return []string{"core", "all", "none"} }

// EnvPolicy makes the environment of a process out of the server's own.
type EnvPolicy struct {
	Inherit               Inherit           `json:"inherit" wire:"required"`
	IgnoreDefaultExcludes bool              `json:"ignoreDefaultExcludes" wire:"required"`
	Exclude               []string          `json:"exclude" wire:"required"`
	Set                   map[string]string `json:"set" wire:"required"`
	IncludeOnly           []string          `json:"includeOnly" wire:"required"`
}

// ManagedNetwork bounds what a process may reach on the network.
type ManagedNetwork struct {
	LoopbackPorts     []uint16 `json:"loopbackPorts,omitempty"`
	AllowLocalBinding bool     `json:"allowLocalBinding,omitempty"`
}

// ProcessMetadata says on whose behalf a process runs. It is for logs.
type ProcessMetadata struct {
	ThreadID   *UUID   `json:"threadId,omitempty"`
	ToolCallID *string `json:"toolCallId,omitempty"`
}

// ShellSnapshot is taken of a shell's state to make later ones faster.
type ShellSnapshot struct {
	ScopeID string `json:"scopeId" wire:"required"`
	Shell   Shell  `json:"shell" wire:"required"`
}

// UUID is the text of a UUID.
type UUID string

func (u *UUID) decodeWire(raw []byte) error {
	s, err := text(raw)
	if err != nil {
		return err
	}
	digits := strings.TrimPrefix(s, "urn:uuid:")
	if strings.HasPrefix(s, "{") && strings.HasSuffix(s, "}") {
		digits = s[1 : len(s)-1]
	}
	for i, c := range digits {
		if !strings.ContainsRune("0123456789abcdefABCDEF-", c) {
			at := len(s) - len(digits) + i + 1
			return decodeError(fmt.Sprintf("invalid character: expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-], found `%c` at %d", c, at))
		}
	}
	groups := strings.Split(digits, "-")
	switch len(groups) {
	case 1:
		if len(digits) != len(s) { // with a prefix there must be groups
			return decodeError("invalid group count: expected 5, found 1")
		}
		if len(digits) != 32 {
			return decodeError(fmt.Sprintf("invalid length: expected length 32 for simple format, found %d", len(digits)))
		}
	case 5:
		for i, want := range []int{8, 4, 4, 4, 12} {
			if len(groups[i]) != want {
				return decodeError(fmt.Sprintf("invalid group length in group %d: expected %d, found %d", i, want, len(groups[i])))
			}
		}
	default:
		return decodeError(fmt.Sprintf("invalid group count: expected 5, found %d", len(groups)))
	}
	*u = UUID(s)
	return nil
}

// ProcessStartResult answers process/start.
type ProcessStartResult struct {
	ProcessID   string      `json:"processId"`
	SandboxType SandboxType `json:"sandboxType,omitempty"`
	PID         int         `json:"pid,omitempty"`         // ExtProcessList
	AttachToken string      `json:"attachToken,omitempty"` // ExtProcessAttach: for process/attach of whoever has it
}

// SandboxType is what confines a process.
type SandboxType string

// The types.
const (
	SandboxNone                   SandboxType = "none"
	SandboxLinuxSeccomp           SandboxType = "linuxSeccomp"
	SandboxMacSeatbelt            SandboxType = "macosSeatbelt"
	SandboxWindowsRestrictedToken SandboxType = "windowsRestrictedToken"
)

// ProcessReadParams ask for retained output.
type ProcessReadParams struct {
	ProcessID string  `json:"processId" wire:"required"`
	AfterSeq  *uint64 `json:"afterSeq"` // nil: 0, from the first
	MaxBytes  *uint   `json:"maxBytes"` // nil: no bound; at least one chunk comes
	WaitMs    *uint64 `json:"waitMs"`   // nil: 0, no waiting
}

// ProcessReadResult answers process/read and process/attach.
type ProcessReadResult struct {
	Chunks        []OutputChunk `json:"chunks"`
	NextSeq       uint64        `json:"nextSeq"`
	Exited        bool          `json:"exited"`
	ExitCode      *int32        `json:"exitCode"`
	Closed        bool          `json:"closed"`
	Failure       *string       `json:"failure"`
	SandboxDenied bool          `json:"sandboxDenied"`
	// Lost tells what was asked for and is no longer retained; nil mostly, and
	// always of servers that do not know of it.
	Lost *Lost `json:"lost,omitempty"`
}

// OutputChunk is a piece of output.
type OutputChunk struct {
	Seq    uint64 `json:"seq"`
	Stream Stream `json:"stream"`
	Chunk  []byte `json:"chunk"`
}

// Lost is output that is gone.
type Lost struct {
	ThroughSeq uint64 `json:"throughSeq"` // everything asked for up to here, but for the seq of an exit
	Chunks     uint64 `json:"chunks"`     // of the process since its start
	Bytes      uint64 `json:"bytes"`      // likewise
}

// ProcessWriteParams are bytes for a process's stdin or terminal.
type ProcessWriteParams struct {
	ProcessID string `json:"processId" wire:"required"`
	Chunk     []byte `json:"chunk" wire:"required"`
	WriteID   string `json:"writeId" wire:"required"` // not empty; the same one again writes nothing
}

// WriteStatus says what came of a write, or of process/closeStdin.
type WriteStatus string

// The statuses.
const (
	WriteAccepted       WriteStatus = "accepted"
	WriteUnknownProcess WriteStatus = "unknownProcess"
	WriteStdinClosed    WriteStatus = "stdinClosed"
	WriteStarting       WriteStatus = "starting"
)

// ProcessWriteResult answers process/write and process/closeStdin.
type ProcessWriteResult struct {
	Status WriteStatus `json:"status"`
}

// Signal is what process/signal can send.
type Signal string

// SignalInterrupt is SIGINT to the process group.
const SignalInterrupt Signal = "interrupt"

func (Signal) variants() []string { return []string{"interrupt"} }

// ProcessSignalParams name a signal. The answer is Empty.
type ProcessSignalParams struct {
	ProcessID string `json:"processId" wire:"required"`
	Signal    Signal `json:"signal" wire:"required"`
}

// ProcessTerminateParams name a process to kill, with everything it started.
type ProcessTerminateParams struct {
	ProcessID string  `json:"processId" wire:"required"`
	GraceMs   *uint64 `json:"graceMs,omitempty" wire:"ext"` // SIGTERM first. ExtProcessGrace
}

// ProcessTerminateResult answers process/terminate.
type ProcessTerminateResult struct {
	Running bool `json:"running"` // it was, when asked
}

// Empty is a result without members.
type Empty struct{}

// ProcessOutput is the params of process/output.
type ProcessOutput struct {
	ProcessID string `json:"processId"`
	Seq       uint64 `json:"seq"`
	Stream    Stream `json:"stream"`
	Chunk     []byte `json:"chunk"`
}

// ProcessExited is the params of process/exited.
type ProcessExited struct {
	ProcessID     string `json:"processId"`
	Seq           uint64 `json:"seq"`
	ExitCode      int32  `json:"exitCode"`
	SandboxDenied *bool  `json:"sandboxDenied"`
}

// ProcessClosed is the params of process/closed.
type ProcessClosed struct {
	ProcessID string `json:"processId"`
	Seq       uint64 `json:"seq"`
}
