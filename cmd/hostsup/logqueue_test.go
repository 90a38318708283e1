package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/config"
)

// A standard error that is not read must block neither logging nor the end of the
// program. A later reader must learn how much was lost.
func TestLogNeverBlocks(t *testing.T) {
	r, w := io.Pipe() // unbuffered
	begun := make(chan struct{})
	log, err := newOwnLog(&tellsFirst{w: w, begun: begun}, show.Screen{}, config.Log{Level: "info", To: config.LogToStderr}, "")
	if err != nil {
		t.Fatal(err)
	}
	queue := log.errout
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

// Writers that wait for room leave some to the log, and give up when they are told to.
func TestLogHasRoomBesideWhatWaits(t *testing.T) {
	r, w := io.Pipe()
	queue := newLogQueue(w, func(n int) []byte { return lostRemark(n, "nobody reads", false) })
	ctx, cancel := context.WithCancel(t.Context())
	line := []byte(strings.Repeat("x", 999) + "\n")
	waited := make(chan int)
	go func() {
		n := 0
		for queue.wait(ctx, line) {
			n++
		}
		waited <- n
	}()
	blocked := func() bool { // the writer waits for room
		queue.mu.Lock()
		defer queue.mu.Unlock()
		return len(queue.waiting)+len(line) > logQueueFirst
	}
	for !blocked() {
		runtime.Gosched()
	}
	for range 100 {
		if _, err := queue.Write([]byte("log\n")); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	n := <-waited
	all := make(chan string)
	go func() {
		b, _ := io.ReadAll(r)
		all <- string(b)
	}()
	queue.flush()
	w.Close()
	got := <-all
	if strings.Count(got, "log\n") != 100 || strings.Count(got, "x\n") != n || strings.Contains(got, "lost") {
		t.Errorf("%d bytes with %d of %d lines and %d of 100 of the log", len(got), strings.Count(got, "x\n"), n, strings.Count(got, "log\n"))
	}
}
