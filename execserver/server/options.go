package server

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// Options say how a Server works. The zero value, with a Listen, is that of the
// protocol's first server wherever a client can tell, but for Retain and WhenFull:
// that one keeps 1 MiB and drops.
type Options struct {
	// Listen is ws://IP:PORT (port 0 for any), unix:///PATH, or stdio, also as
	// stdio://. "" is ws://127.0.0.1:0.
	Listen string
	Auth   Auth
	// Exposed allows a WebSocket on an address beyond this machine without Auth.
	Exposed bool

	// Sandbox confines whatever a client asks for: processes, requests about files,
	// and what HTTP requests connect to; nil: nothing does. A request with a sandbox
	// object of its own is confined by both. Commands see what their user sees, as far
	// as it is granted: policy.Policy.Ordinary is set.
	Sandbox *policy.Policy
	// Limits bound every process.
	Limits policy.Limits
	// Env is the environment that a client's policy inherits from, and that headers
	// of HTTP requests can name, as NAME=VALUE; nil is the program's. The control socket of a supervisor is never in it.
	Env []string

	Retain        int           // bytes of output kept per process; 0 is 16 MiB. Of what a connection was sent already half is kept, or 1 MiB
	Budget        int           // bytes of memory for the output of all processes beyond the 1 MiB that each has; 0 is 256 MiB. See the package's documentation
	WhenFull      WhenFull      // what becomes of a process without a connection when that is used up, unless its client says; "" is Pause
	Window        int           // bytes of output that a client may be behind before its process is stalled; 0 is 512 KiB, or half of a smaller Retain
	KeepClosed    time.Duration // how long a closed process can be read; 0 is 80 s. It begins anew while its client is away or behind, and when that comes back
	KeepDetached  time.Duration // how long a session lives without a connection; 0 is 80 s
	KeepAsked     time.Duration // the longest that a client can have it live so by session/keep; 0 is a week, or KeepDetached where that is longer
	Ping          time.Duration // 0 is 30 s; negative: none
	PongWait      time.Duration // how long a ping may be unanswered before the session can be taken over; 0 is 2 s
	Concurrent    int           // requests of one connection at a time; 0 is 256
	MaxMessage    int           // bytes; 0 is 64 MiB
	MaxProcesses  int           // processes of all sessions that are not closed; 0: unlimited
	MaxSessions   int           // 0: unlimited
	NoPrivateHTTP bool          // http/request refuses addresses of private networks and of this machine

	Version string       // executorVersion; "" is this module's
	Log     hclog.Logger // nil: nothing is logged
	// Launcher starts the processes; nil: one of the server's own, which ends
	// with it.
	Launcher *sandbox.Launcher

	// Idle, if not nil, is called seconds after the last session has ended, when the memory
	// that sessions took has been returned to the system.
	Idle func()

	// Stdin and Stdout are for Listen stdio; nil are the program's.
	Stdin, Stdout *os.File
}

// ErrExposed is refused without Options.Exposed.
var ErrExposed = errors.New("it would be open to other machines without authentication")

// Transport is how clients come to a server.
type Transport string

// The transports.
const (
	WebSocket Transport = "ws"
	Stdio     Transport = "stdio"
	Unix      Transport = "unix"
)

// address is a Listen that was understood.
type address struct {
	transport Transport
	tcp       netip.AddrPort
	path      string
}

func parseListen(s string) (a address, err error) {
	switch {
	case s == "":
		s = defaultListen
	case s == "stdio" || s == "stdio://":
		return address{transport: Stdio}, nil
	case strings.HasPrefix(s, "unix://"):
		path := strings.TrimPrefix(s, "unix://")
		if !filepath.IsAbs(path) {
			return a, fmt.Errorf("listen %q: the path must be absolute: unix:///run/x.sock", s)
		}
		return address{transport: Unix, path: path}, nil
	}
	rest, ok := strings.CutPrefix(s, "ws://")
	if !ok {
		return a, fmt.Errorf("listen %q: expected ws://IP:PORT, stdio or unix:///PATH", s)
	}
	a = address{transport: WebSocket}
	if a.tcp, err = netip.ParseAddrPort(strings.TrimSuffix(rest, "/")); err != nil {
		return a, fmt.Errorf("listen %q: expected an address and a port, like ws://127.0.0.1:0", s)
	}
	return a, nil
}

// Defaults returns the options that the zero value stands for, without those that
// depend on others or on the program.
func Defaults() Options {
	o, _, _ := Options{}.withDefaults() // never an error
	o.Listen, o.Auth.JWTSkew = defaultListen, defaultSkew
	o.Window, o.Log, o.Stdin, o.Stdout = 0, nil, nil, nil
	return o
}

const defaultListen = "ws://127.0.0.1:0"

// Validate returns an error for invalid options, as far as that can be found out
// without listening.
func (o Options) Validate() error {
	_, _, err := o.withDefaults()
	return err
}

// withDefaults fills in what is not set, and returns an error for invalid options.
func (o Options) withDefaults() (Options, address, error) {
	a, err := parseListen(o.Listen)
	if err != nil {
		return o, a, err
	}
	if o.Auth, err = o.Auth.load(a.transport); err != nil {
		return o, a, err
	}
	if a.transport == WebSocket && !a.tcp.Addr().Unmap().IsLoopback() && !o.Auth.required() && !o.Exposed {
		return o, a, fmt.Errorf("listen %q: %w", o.Listen, ErrExposed)
	}
	if err := o.Sandbox.Validate(o.Limits); o.Sandbox != nil && err != nil {
		return o, a, err
	}
	fill(&o.KeepClosed, wire.RetainSeconds*time.Second)
	fill(&o.KeepDetached, wire.RetainSeconds*time.Second)
	fill(&o.KeepAsked, max(7*24*time.Hour, o.KeepDetached))
	fill(&o.PongWait, 2*time.Second)
	o.Ping = cmp.Or(o.Ping, wire.PingSeconds*time.Second)
	fill(&o.Retain, defaultRetain)
	fill(&o.Budget, defaultBudget)
	fill(&o.Window, max(min(o.Retain, wire.RetainBytes)/2, pageBytes))
	o.WhenFull = cmp.Or(o.WhenFull, Pause)
	if !slices.Contains(WhenFulls(), o.WhenFull) {
		return o, a, fmt.Errorf("when full %q: expected %q or %q", o.WhenFull, Pause, Drop)
	}
	fill(&o.Concurrent, 256)
	fill(&o.MaxMessage, wire.MaxMessage)
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	o.Stdin, o.Stdout = cmp.Or(o.Stdin, os.Stdin), cmp.Or(o.Stdout, os.Stdout)
	return o, a, nil
}

// fill sets an option that is not positive to its default.
func fill[T int | time.Duration](option *T, to T) {
	if *option <= 0 {
		*option = to
	}
}
