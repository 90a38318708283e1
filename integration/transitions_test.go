//go:build linux

package integration

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// tale is one row: a host, what is done to it, and what the events say of it.
type tale struct {
	title string
	with  []change
	needs *supervisor.HostSpec // a host it depends on, named "db"
	do    steps
	want  string
	then  func(*scene) // further checks
}

var tales = slices.Concat(lifeTales, stopTales)

// lifeTales are of starts, ends and crashes.
var lifeTales = []tale{{
	title: "an exit with 0 is no crash, and it stays down",
	do:    steps{is(lifecycle.Running), exits(0)},
	want: `starting: configured
		running: ready
		stopped: exit 0`,
	then: func(sc *scene) {
		if s := sc.h.Status(); s.CrashesInWindow != 0 || s.LastExit == nil || *s.LastExit.Code != 0 || s.PID != nil {
			sc.t.Errorf("status %+v", s)
		}
	},
}, {
	title: "an exit with 0 under always comes back and is not counted",
	with:  []change{policy(lifecycle.Always)},
	do:    steps{is(lifecycle.Running), exits(0), lives(2), exits(0)},
	want: `starting: configured
		running: ready
		restarting: exit 0: again now
		starting: restart
		running: ready
		restarting: exit 0: again in 10ms
		starting: restart
		running: ready`,
	then: func(sc *scene) {
		if s := sc.h.Status(); s.CrashesInWindow != 0 || s.Restarts != 2 {
			sc.t.Errorf("status %+v", s)
		}
		if got, _ := sc.sup.Crashes(""); len(got) != 0 {
			sc.t.Errorf("%d crash reports", len(got))
		}
	},
}, {
	title: "an exit with 3 is a crash",
	do:    steps{is(lifecycle.Running), exits(3)},
	want: `starting: configured
		running: ready
		crashed: exit 3
		restarting: exit 3: again now, crash 1 of 3 in 5m0s
		starting: restart
		running: ready`,
	then: reportSays("exit 3", 3, ""),
}, {
	title: "kill -9 is a crash",
	do:    steps{is(lifecycle.Running), sends(syscall.SIGKILL)},
	want: `starting: configured
		running: ready
		crashed: killed by SIGKILL
		restarting: killed by SIGKILL: again now, crash 1 of 3 in 5m0s
		starting: restart
		running: ready`,
	then: reportSays("killed by SIGKILL", 0, "SIGKILL"),
}, {
	title: "abort is a crash",
	do:    steps{is(lifecycle.Running), dies("SIGABRT")},
	want: `starting: configured
		running: ready
		crashed: killed by SIGABRT
		restarting: killed by SIGABRT: again now, crash 1 of 3 in 5m0s
		starting: restart
		running: ready`,
	then: reportSays("killed by SIGABRT", 0, "SIGABRT"),
}, {
	title: "the third crash gives up, a person's start opens a new window",
	do: steps{
		is(lifecycle.Running), exits(3), lives(2), dies("SIGSEGV"), lives(3), exits(4), is(lifecycle.Failed), persons((*supervisor.Host).Start),
		does(func(sc *scene) {
			if s := sc.h.Status(); s.CrashesInWindow != 0 {
				sc.t.Errorf("crashes %d", s.CrashesInWindow)
			}
		}), exits(5), lives(5),
	},
	want: `starting: configured
		running: ready
		crashed: exit 3
		restarting: exit 3: again now, crash 1 of 3 in 5m0s
		starting: restart
		running: ready
		crashed: killed by SIGSEGV
		restarting: killed by SIGSEGV: again in 10ms, crash 2 of 3 in 5m0s
		starting: restart
		running: ready
		crashed: exit 4
		failed: exit 4: crash 3 in 5m0s, given up
		starting: asked for
		running: ready
		crashed: exit 5
		restarting: exit 5: again now, crash 1 of 3 in 5m0s
		starting: restart
		running: ready`,
}, {
	title: "reset brings a failed host back",
	with:  []change{crashes(1)},
	do:    steps{is(lifecycle.Running), exits(3), is(lifecycle.Failed), persons((*supervisor.Host).Reset)},
	want: `starting: configured
		running: ready
		crashed: exit 3
		failed: exit 3: crash 1 in 5m0s, given up
		reset: crash window cleared
		starting: asked for
		running: ready`,
}, {
	title: "retry_failed brings a failed host back by itself",
	with:  []change{crashes(1), func(s *supervisor.HostSpec) { s.Restart.RetryFailed = 20 * time.Millisecond }},
	do:    steps{is(lifecycle.Running), exits(3)},
	want: `starting: configured
		running: ready
		crashed: exit 3
		failed: exit 3: crash 1 in 5m0s, given up
		starting: restart
		running: ready`,
}, {
	title: "crashes older than the window do not count",
	with: []change{crashes(2), func(s *supervisor.HostSpec) {
		s.Restart.Window = 100 * time.Millisecond
	}},
	do: steps{is(lifecycle.Running), exits(3), lives(2), windowEmpty, exits(4), lives(3)},
	want: `starting: configured
		running: ready
		crashed: exit 3
		restarting: exit 3: again now, crash 1 of 2 in 100ms
		starting: restart
		running: ready
		crashed: exit 4
		restarting: exit 4: again in 10ms, crash 1 of 2 in 100ms
		starting: restart
		running: ready`,
}, {
	title: "a healthy spell makes the next restart an immediate one",
	with:  []change{func(s *supervisor.HostSpec) { s.Restart.Backoff.Healthy = time.Millisecond }},
	do:    steps{is(lifecycle.Running), exits(3), lives(2), exits(3)},
	want: `starting: configured
		running: ready
		crashed: exit 3
		restarting: exit 3: again now, crash 1 of 3 in 5m0s
		starting: restart
		running: ready
		crashed: exit 3
		restarting: exit 3: again now, crash 2 of 3 in 5m0s
		starting: restart
		running: ready`,
}, {
	title: "under never a crash stops it",
	with:  []change{policy(lifecycle.Never)},
	do:    steps{is(lifecycle.Running), exits(3)},
	want: `starting: configured
		running: ready
		crashed: exit 3
		stopped: exit 3`,
	then: reportSays("exit 3", 3, ""),
}, {
	title: "statuses that count as success",
	with: []change{func(s *supervisor.HostSpec) {
		s.Restart.Success = []lifecycle.ExitStatus{{Code: 3}, {Signal: int(syscall.SIGUSR1)}}
	}},
	do: steps{
		is(lifecycle.Running), exits(3), is(lifecycle.Stopped), persons((*supervisor.Host).Start), dies("SIGUSR1"), is(lifecycle.Stopped),
		persons((*supervisor.Host).Start), exits(4), lives(4),
	},
	want: `starting: configured
		running: ready
		stopped: exit 3
		starting: asked for
		running: ready
		stopped: killed by SIGUSR1
		starting: asked for
		running: ready
		crashed: exit 4
		restarting: exit 4: again now, crash 1 of 3 in 5m0s`,
}, {
	title: "SIGSTOP makes it unresponsive without any call, SIGCONT brings it back",
	with:  []change{reported},
	do: steps{
		is(lifecycle.Running), sends(syscall.SIGSTOP), is(lifecycle.Unresponsive), sends(syscall.SIGCONT), is(lifecycle.Running),
		does(func(sc *scene) { echoes(sc.t, sc.h) }),
	},
	want: `starting: configured
		running: ready
		unresponsive: no sign of life
		running: answers again`,
	then: func(sc *scene) {
		if s := sc.h.Status(); s.Life != 1 || s.CrashesInWindow != 0 {
			sc.t.Errorf("status %+v", s)
		}
	},
}, {
	title: "SIGSTOP for too long is killed",
	with:  []change{watched},
	do:    steps{is(lifecycle.Running), sends(syscall.SIGSTOP)},
	want: `starting: configured
		running: ready
		unresponsive: no sign of life
		crashed: killed: unresponsive for 500ms
		restarting: killed: unresponsive for 500ms: again now, crash 1 of 3 in 5m0s
		starting: restart
		running: ready`,
	then: reportSays("killed: unresponsive for 500ms", 0, "SIGKILL"),
}, {
	title: "a hang is seen and killed",
	with:  []change{watched},
	do:    steps{is(lifecycle.Running), asks("hang", nil)},
	want: `starting: configured
		running: ready
		unresponsive: no sign of life
		crashed: killed: unresponsive for 500ms
		restarting: killed: unresponsive for 500ms: again now, crash 1 of 3 in 5m0s
		starting: restart
		running: ready`,
	then: reportSays("killed: unresponsive for 500ms", 0, "SIGKILL"),
}, {
	title: "a hang that ends in time is forgiven",
	with:  []change{reported},
	do:    steps{is(lifecycle.Running), call("hang", map[string]int{"ms": 4000})},
	want: `starting: configured
		running: ready
		unresponsive: no sign of life
		running: answers again`,
}, {
	title: "killed while unresponsive",
	with:  []change{reported},
	do:    steps{is(lifecycle.Running), sends(syscall.SIGSTOP), is(lifecycle.Unresponsive), sends(syscall.SIGKILL)},
	want: `starting: configured
		running: ready
		unresponsive: no sign of life
		crashed: killed by SIGKILL
		restarting: killed by SIGKILL: again now, crash 1 of 3 in 5m0s
		starting: restart
		running: ready`,
}, {
	title: "an exit with 0 while unresponsive is a crash",
	with:  []change{reported, plays("quitter")},
	do:    steps{is(lifecycle.Running), asks("hang", nil), is(lifecycle.Unresponsive), sends(syscall.SIGUSR1)},
	want: `starting: configured
		running: ready
		unresponsive: no sign of life
		crashed: exit 0 while unresponsive
		restarting: exit 0 while unresponsive: again now, crash 1 of 3 in 5m0s
		starting: restart
		running: ready`,
}, {
	title: "a missing binary",
	with:  []change{runCommand("no-such-program-anywhere"), crashes(2)},
	want: `starting: configured
		crashed: spawn: …
		restarting: …
		starting: restart
		crashed: spawn: …
		failed: spawn: …`,
	then: func(sc *scene) {
		mentions(sc.t, *sc.h.Status().Reason, "no-such-program-anywhere", "crash 2 in 5m0s, given up")
	},
}, {
	title: "a folder that is not there",
	with:  []change{crashes(1), func(s *supervisor.HostSpec) { s.Dir = "/no/such/folder" }},
	want: `starting: configured
		crashed: spawn: …
		failed: spawn: …`,
	then: func(sc *scene) { mentions(sc.t, *sc.h.Status().Reason, "/no/such/folder") },
}, {
	title: "a file that is not executable",
	with:  []change{runCommand("/etc/passwd"), crashes(1)},
	want: `starting: configured
		crashed: spawn: …
		failed: spawn: …`,
	then: func(sc *scene) { mentions(sc.t, *sc.h.Status().Reason, "/etc/passwd", "permission denied") },
}, {
	title: "a file that is no program",
	with: []change{crashes(1), func(s *supervisor.HostSpec) {
		s.Command, s.Protocol = []string{filepath.Join(os.Getenv("TMPDIR"), "scripts", "no-format")}, nil
	}},
	want: `starting: configured
		crashed: spawn: …
		failed: spawn: …`,
	then: func(sc *scene) { mentions(sc.t, *sc.h.Status().Reason, "no-format", "exec format error") },
}, {
	title: "a handshake that never comes",
	with:  []change{startsLike("never"), crashes(1), startTimeout(300 * time.Millisecond)},
	want: `starting: configured
		crashed: not ready 300ms after its start
		failed: not ready 300ms after its start: crash 1 in 5m0s, given up`,
	then: reportSays("not ready 300ms after its start", 0, "SIGKILL"),
}, {
	title: "a start that takes long is reported and kept with on_timeout wait",
	with:  []change{startsLike("never"), crashes(1), startTimeout(100 * time.Millisecond), waitsForSlow},
	do: steps{does(func(sc *scene) {
		if err := sc.sup.Ready(ctx(sc.t)); err != nil { // a slow one has had its first try
			sc.t.Fatal(err)
		}
		if s := sc.h.Status(); !s.Slow || s.State != lifecycle.Starting {
			sc.t.Errorf("status %+v", s)
		}
		eventually(sc.t, func() bool { return sc.h.Status().PID != nil })
	}), sends(syscall.SIGKILL)},
	want: `starting: configured
		slow: not ready 100ms after its start; waiting
		crashed: killed by SIGKILL
		failed: killed by SIGKILL: crash 1 in 5m0s, given up`,
}, {
	title: "a slow start comes to its good end",
	with:  []change{startsLike("slow:400ms"), startTimeout(50 * time.Millisecond), waitsForSlow},
	do:    steps{is(lifecycle.Running), does(func(sc *scene) { echoes(sc.t, sc.h) })},
	want: `starting: configured
		slow: not ready 50ms after its start; waiting
		running: ready`,
	then: func(sc *scene) {
		if sc.h.Status().Slow {
			sc.t.Error("still slow")
		}
	},
}, {
	title: "a message before the handshake",
	with:  []change{startsLike("early"), crashes(1)},
	want: `starting: configured
		crashed: protocol: message before the handshake: …
		failed: protocol: message before the handshake: …`,
	then: reportSays("early", 0, "SIGKILL"),
}, {
	title: "a host that refuses the handshake says why",
	with:  []change{plays("refuses"), crashes(1)},
	want: `starting: configured
		crashed: protocol: it refused the handshake: Error: no licence
		failed: protocol: it refused the handshake: Error: no licence…`,
}, {
	title: "another version of the protocol is not tried again",
	with:  []change{startsLike("version"), crashes(100)},
	want: `starting: configured
		crashed: version: protocol version not supported: the other side speaks 2, this side 1
		failed: version: protocol version not supported: the other side speaks 2, this side 1: not tried again`,
	then: func(sc *scene) {
		if s := sc.h.Status(); s.Life != 1 || s.Restarts != 0 {
			sc.t.Errorf("status %+v", s)
		}
	},
}, {
	title: "a host that closes its connection and lives on is killed",
	with:  []change{startsLike("close"), crashes(1)},
	want: `starting: configured
		running: ready
		crashed: closed its connection and lived on
		failed: closed its connection and lived on: crash 1 in 5m0s, given up`,
	then: reportSays("closed its connection and lived on", 0, "SIGKILL"),
}, {
	title: "a host that dies in the handshake",
	with:  []change{startsLike("die"), crashes(1)},
	want: `starting: configured
		crashed: exit 7
		failed: exit 7: crash 1 in 5m0s, given up`,
	then: reportSays("exit 7", 7, ""),
}, {
	title: "a host that exits before the handshake",
	with:  []change{startsLike("exit:3"), crashes(1)},
	want: `starting: configured
		crashed: exit 3
		failed: exit 3: crash 1 in 5m0s, given up`,
}, {
	title: "even an exit with 0 is a crash before the handshake is done",
	with:  []change{startsLike("exit:0"), crashes(1)},
	want: `starting: configured
		crashed: exit 0 before it was ready
		failed: exit 0 before it was ready: crash 1 in 5m0s, given up`,
}, {
	title: "a grandchild that holds stdout open delays nothing",
	do: steps{is(lifecycle.Running), call("print", map[string]string{"stdout": "before"}), call("spawn", map[string]bool{"setsid": true}), exits(3), lives(2),
		does(func(sc *scene) { mentions(sc.t, crash(sc.t, sc.sup, "ts").Lines[0].Text, "before") })},
	want: `starting: configured
		running: ready
		crashed: exit 3
		restarting: exit 3: again now, crash 1 of 3 in 5m0s
		starting: restart
		running: ready`,
}}
