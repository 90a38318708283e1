package sandbox

import (
	"testing"

	"github.com/hostsup/hostsup/sandbox/policy"
)

func TestReached(t *testing.T) {
	l := policy.Limits{Memory: 512 << 20, Tasks: 64, Files: 32, FileSize: 3 << 29}
	for _, c := range []struct {
		exit Exit
		want string
	}{
		{Exit{Code: 3}, ""},
		{Exit{OutOfMemory: true, MemoryPeak: 512 << 20, Limit: "memory"}, "out of memory (limit 512 MiB, peak 512 MiB)"},
		{Exit{OutOfMemory: true}, "out of memory (limit 512 MiB)"},
		{Exit{Limit: "memory"}, "limit of memory reached: 512 MiB"},
		{Exit{Limit: "tasks"}, "limit of tasks reached: 64"},
		{Exit{Limit: "files"}, "limit of files reached: 32"},
		{Exit{Limit: "file_size"}, "limit of file_size reached: 1.5 GiB"},
		{Exit{Limit: "other"}, "limit of other reached"},
	} {
		if got := c.exit.Reached(l); got != c.want {
			t.Errorf("%+v: %q, want %q", c.exit, got, c.want)
		}
	}
}
