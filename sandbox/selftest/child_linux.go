//go:build !hostsup_posix

package selftest

import (
	"io"
	"os"
	"strconv"
	"time"
)

// children are what attempts start beside themselves: the part "child".
var children = map[string]func(arg string) int{
	// say tells its argument: it has run.
	"say": func(arg string) int {
		tell(noteSay, arg)
		return 0
	},
	// wait waits until its stdin ends, at most for a time, in ms.
	"wait": func(arg string) int {
		untilEOF(os.Stdin, milliseconds(arg))
		return 0
	},
	// hold fills some MiB of memory, says so and keeps them for two seconds.
	"hold": func(arg string) int {
		n, _ := strconv.Atoi(arg)
		keep := fill(n << 20)
		tell(noteSay, "held "+arg)
		untilEOF(os.Stdin, 2*time.Second)
		return int(keep[0]) &^ 1
	},
	// spin uses a processor for a time, in ms.
	"spin": func(arg string) int {
		for end := time.Now().Add(milliseconds(arg)); time.Now().Before(end); {
		}
		return 0
	},
	// These will not go; see outliving.
	"linger":      linger,
	"fork-linger": forkLinger,
	"refork":      reforker,
}

func partChild(args []string) int {
	if len(args) != 2 || children[args[0]] == nil {
		return 2
	}
	return children[args[0]](args[1])
}

func milliseconds(s string) time.Duration {
	n, _ := strconv.Atoi(s)
	return time.Duration(n) * time.Millisecond
}

// fill sets memory aside and writes to every page of it.
func fill(n int) []byte {
	b := make([]byte, n)
	for i := 0; i < n; i += page {
		b[i] = 1
	}
	return b
}

// untilEOF waits for the end of r, at most for a time.
func untilEOF(r io.Reader, most time.Duration) {
	end := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, r)
		close(end)
	}()
	select {
	case <-end:
	case <-time.After(most):
	}
}
