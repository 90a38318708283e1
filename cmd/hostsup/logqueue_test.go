package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/hostsup/hostsup/config"
)

// A standard error that is not read must block neither logging nor the end of the
// program. A later reader must learn how much was lost.
func TestLogNeverBlocks(t *testing.T) {
	r, w := io.Pipe() // unbuffered
	begun := make(chan struct{})
	log, queue := newLogger(&tellsFirst{w: w, begun: begun}, config.Log{Level: "info"})
	long := strings.Repeat("x", 1000)
	const n = 3 * logQueueBytes / 1000
	for i := range n {
		log.Info(long, "number", i)
		<-begun // the line being written is no longer queued: all lost lines are lost at one point
	}
	queue.flush()
	all := make(chan []string)
	go func() {
		var got []string
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			got = append(got, lines.Text())
		}
		all <- got
	}()
	queue.flush() // until there is room
	log.Info("after")
	queue.flush()
	w.Close()
	got := <-all
	kept := len(got) - 2
	for i, text := range got[:max(kept, 0)] {
		if !strings.HasSuffix(text, fmt.Sprintf("number=%d", i)) {
			t.Fatalf("line %d: %.100s", i, text)
		}
	}
	if kept < 1 || kept >= n || got[kept] != fmt.Sprintf("hostsup: %d lines of the log were lost here: standard error was not read", n-kept) ||
		!strings.HasSuffix(got[kept+1], "after") {
		t.Errorf("of %d lines %d came, and then %.200q", n, kept, got[max(kept, 0):])
	}
}

// tellsFirst closes begun when the first write begins.
type tellsFirst struct {
	w     io.Writer
	once  sync.Once
	begun chan struct{}
}

func (f *tellsFirst) Write(b []byte) (int, error) {
	f.once.Do(func() { close(f.begun) })
	return f.w.Write(b)
}
