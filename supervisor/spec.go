package supervisor

import (
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/lifecycle"
)

// HostSpec says everything about one host; see [actors.HostSpec].
type HostSpec = actors.HostSpec

// GroupSpec is a named set of hosts with a strategy for shared fate.
type GroupSpec struct {
	Name     string
	Strategy lifecycle.Strategy // default one_for_one
	Hosts    []HostSpec         // in order of declaration
}

// Spec is what a supervisor runs: an immutable value.
type Spec struct {
	Groups   []GroupSpec
	StateDir string // log files and crash reports; "" keeps both in memory only
	OnFailed OnFailed
	Config   string // path of the file it came from; shown in status
	Socket   string // control socket; shown in status
}

// OnFailed says what a host that has given up means for the whole.
type OnFailed string

// The two answers.
const (
	Stay OnFailed = "stay" // the supervisor goes on (default)
	Exit OnFailed = "exit" // the supervisor stops; Done reports ErrHostFailed
)

var _ = time.Second
