//go:build linux

package integration

import (
	"syscall"
	"time"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// stopTales are of stops that persons ask for, and of dependencies.
var stopTales = []tale{{
	title: "a stop cuts the back-off short",
	with:  []change{patient},
	do: steps{is(lifecycle.Running), exits(3), lives(2), exits(3), is(lifecycle.Restarting), does(func(sc *scene) {
		eventually(sc.t, func() bool { return sc.h.Status().RetryInSeconds != nil })
		if s := sc.h.Status(); *s.RetryInSeconds < 3000 || s.PID != nil {
			sc.t.Errorf("status %+v", s)
		}
	}), persons((*supervisor.Host).Stop)},
	want: `starting: configured
		running: ready
		crashed: exit 3
		restarting: exit 3: again now, crash 1 of 3 in 5m0s
		starting: restart
		running: ready
		crashed: exit 3
		restarting: exit 3: again in 1h0m0s, crash 2 of 3 in 5m0s
		stopping: stopped by request
		stopped: stopped by request`,
}, {
	title: "a process without a protocol is running once it is there",
	with:  []change{runCommand("sleep", "1000"), crashes(1)},
	do: steps{is(lifecycle.Running), does(func(sc *scene) {
		if s := sc.h.Status(); s.Liveness != "none" || s.Protocol != "none" || s.PID == nil {
			sc.t.Errorf("status %+v", s)
		}
	}), sends(syscall.SIGKILL)},
	want: `starting: configured
		running: ready
		crashed: killed by SIGKILL
		failed: killed by SIGKILL: crash 1 in 5m0s, given up`,
}, {
	title: "a stop while it starts",
	with:  []change{startsLike("never"), grace(300 * time.Millisecond)},
	do:    steps{is(lifecycle.Starting), persons((*supervisor.Host).Stop)},
	want: `starting: configured
		stopping: stopped by request
		stopped: stopped by request`,
}, {
	title: "a stop while it is unresponsive goes as far as SIGKILL",
	with:  []change{reported, grace(100 * time.Millisecond)},
	do:    steps{is(lifecycle.Running), sends(syscall.SIGSTOP), is(lifecycle.Unresponsive), persons((*supervisor.Host).Stop)},
	want: `starting: configured
		running: ready
		unresponsive: no sign of life
		stopping: stopped by request
		stopped: stopped by request`,
	then: endedBy("SIGKILL"),
}, {
	title: "a host that ignores the goodbye and SIGTERM is dead within its grace",
	with:  []change{startsLike("ignore-term"), grace(200 * time.Millisecond)},
	do: steps{is(lifecycle.Running), does(func(sc *scene) {
		began := time.Now()
		persons((*supervisor.Host).Stop)(sc)
		if took := time.Since(began); took < 200*time.Millisecond {
			sc.t.Errorf("killed after %s of 200ms", took)
		}
	})},
	want: `starting: configured
		running: ready
		stopping: stopped by request
		stopped: stopped by request`,
	then: endedBy("SIGKILL"),
}, {
	title: "a host that hears the goodbye ends by itself",
	do:    steps{is(lifecycle.Running), persons((*supervisor.Host).Stop)},
	want: `starting: configured
		running: ready
		stopping: stopped by request
		stopped: stopped by request`,
	then: func(sc *scene) {
		if e := sc.h.Status().LastExit; e == nil || e.Code == nil || *e.Code != 0 {
			sc.t.Errorf("exit %+v", e)
		}
		if got, _ := sc.sup.Crashes(""); len(got) != 0 {
			sc.t.Errorf("a stop is no crash: %+v", got)
		}
	},
}, {
	title: "a process without a protocol ends by its signal",
	with: []change{runCommand("sleep", "1000"), func(s *supervisor.HostSpec) {
		s.Stop.Signal = syscall.SIGUSR2
	}},
	do: steps{is(lifecycle.Running), persons((*supervisor.Host).Stop)},
	want: `starting: configured
		running: ready
		stopping: stopped by request
		stopped: stopped by request`,
	then: endedBy("SIGUSR2"),
}, {
	title: "a host whose dependency fails is failed",
	needs: &supervisor.HostSpec{Name: "db", Command: []string{"/no/such/db"}},
	do: steps{is(lifecycle.Failed), does(func(sc *scene) {
		db := host(sc.t, sc.sup, "db")
		if err := sc.h.Stop(ctx(sc.t)); err != nil {
			sc.t.Error(err)
		}
		if s := db.Status(); s.State != lifecycle.Failed {
			sc.t.Errorf("db is %s", s.State)
		}
	})},
	want: `failed: dependency db failed
		stopped: stopped by request`,
}, {
	title: "a restart is given up when what the host depends on has failed",
	needs: &supervisor.HostSpec{Name: "db", Command: []string{"/bin/sleep", "1000"}},
	do: steps{is(lifecycle.Running), does(func(sc *scene) {
		db := host(sc.t, sc.sup, "db")
		signal(sc.t, db, syscall.SIGKILL)
		until(sc.t, db, lifecycle.Failed)
	}), sends(syscall.SIGKILL)},
	want: `starting: configured
		running: ready
		crashed: killed by SIGKILL
		restarting: killed by SIGKILL: again now, crash 1 of 3 in 5m0s
		failed: dependency db failed`,
}}
