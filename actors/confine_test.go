package actors

import (
	"testing"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
)

func TestLimited(t *testing.T) {
	l := policy.Limits{Memory: 512 << 20, Tasks: 64, Files: 32, FileSize: 3 << 29}
	for _, c := range []struct {
		exit sandbox.Exit
		want string
	}{
		{sandbox.Exit{Code: -1, Signal: 9}, "killed by SIGKILL"},
		{sandbox.Exit{Code: 3}, "exit 3"},
		{sandbox.Exit{Code: -1, Signal: 9, OutOfMemory: true, MemoryPeak: 512 << 20, Limit: "memory"}, "out of memory (limit 512 MiB, peak 512 MiB)"},
		{sandbox.Exit{Code: 1, OutOfMemory: true}, "out of memory (limit 512 MiB)"},
		{sandbox.Exit{Code: 1, Limit: "tasks"}, "exit 1 (limit of tasks reached: 64)"},
		{sandbox.Exit{Code: 1, Limit: "files"}, "exit 1 (limit of files reached: 32)"},
		{sandbox.Exit{Code: -1, Signal: 25, Limit: "file_size"}, "killed by SIGXFSZ (limit of file_size reached: 1.5 GiB)"},
		{sandbox.Exit{Code: 1, Limit: "other"}, "exit 1 (limit of other reached)"},
		{sandbox.Exit{Code: 0, Limit: "tasks"}, "exit 0"},
	} {
		f := &Failure{Cause: lifecycle.CauseExit, Exit: &c.exit, Detail: limited(&c.exit, l)}
		if got := f.Error(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.exit, got, c.want)
		}
	}
}
