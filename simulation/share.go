package simulation

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/supervisor"
)

// isShared reports whether a host is a language server that programs are attached to.
func isShared(h *supervisor.HostSpec) bool { return h.Protocol.Name() == "jsonrpc-headers" }

// sharedField tells a host that programs are attached to: "no", "opened" by them, or "yes".
var sharedField = field{
	"shared",
	func(h *supervisor.HostSpec) string {
		switch {
		case !isShared(h):
			return "no"
		case h.Attach:
			return "opened"
		}
		return "yes"
	},
	func(h *supervisor.HostSpec, text string) error {
		h.Protocol, h.Attach = native.New(), text == "opened"
		if text != "no" {
			h.Protocol = jsonrpc.Headers(jsonrpc.Options{})
		}
		return nil
	},
}

// share adds a language server, with programs that come, use documents, leave and come back. It is
// for stories that take no longer than ten minutes: those of an hour take their time with pings.
func (s *story) share(r *rand.Rand, length time.Duration) {
	if length > 10*time.Minute || r.IntN(2) == 0 {
		return
	}
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	last := func(of ...time.Duration) time.Duration { return of[r.IntN(len(of))] }
	h := supervisor.HostSpec{Name: "server", Command: []string{"/bin/sh"}}
	h.Restart = lifecycle.RestartRule{Policy: lifecycle.OnCrash, MaxCrashes: 2 + r.IntN(10), Window: time.Minute, RetryFailed: last(0, 20*time.Second)}
	h.Start.Timeout = 30 * time.Second
	h.Liveness = hostspec.LivenessRule{After: last(time.Second, 3*time.Second), Ping: last(time.Second, 5*time.Second), KillAfter: last(2*time.Second, 10*time.Second)}
	h.Stop.Grace = last(500*time.Millisecond, 3*time.Second)
	if err := sharedField.set(&h, pick("opened", "yes")); err != nil {
		panic(err)
	}
	s.groups = append(s.groups, group{name: "shared", strategy: lifecycle.OneForOne, hosts: []supervisor.HostSpec{h.WithDefaults()}})

	add := func(at time.Duration, verb string, args ...string) {
		s.steps = append(s.steps, step{at: at, verb: verb, host: h.Name, args: args})
	}
	at := func() time.Duration { return time.Duration(r.Int64N(int64(length))).Round(time.Millisecond) }
	for range 10 + r.IntN(30) { // each is a spell in which one program does something
		name, document, begin := fmt.Sprintf("e%d", 1+r.IntN(3)), pick("a", "b"), at()
		add(begin, "attach", name)
		add(begin, "open", name, document)
		for range r.IntN(6) {
			begin += time.Duration(r.Int64N(int64(50 * time.Millisecond))).Round(time.Millisecond)
			switch n := r.IntN(10); {
			case n < 4:
				add(begin, pick("edit", "insert", "insert"), name, document)
			case n < 9:
				add(begin, "inquire", name, document, pick(hover, hover, hover, echo, progress, progress, crash, silent, hang))
			default:
				add(begin, pick("shut", "leave", "drop"), name, document)
			}
		}
	}
	for range r.IntN(8) {
		switch verb := pick("kill", "kill", "freeze", "thaw", "hangup", "exit", "restart", "start", "stop", "reset", "mute", "leaves", "slow", "refused"); verb {
		case "mute", "leaves", "slow", "refused":
			add(at(), verb, pick("on", "off", "off"))
		default:
			add(at(), verb)
		}
	}
}
