//go:build unix

package execserver

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/hostsup/hostsup/execserver/server"
	"github.com/hostsup/hostsup/internal/poll"
)

const noiseLines = 8 << 20 // of eight bytes: 64 MiB

// noiseSum is the SHA-256 of what noisy's command writes.
func noiseSum() string {
	sum := sha256.New()
	w := bufio.NewWriterSize(sum, 1<<20)
	for i := range noiseLines {
		fmt.Fprintf(w, "%07d\n", i+1)
	}
	_ = w.Flush() // a hash fails never
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// noisy has a command write 64 MiB while its client is cut off, until settled
// says so, and returns the SHA-256 of what came and how it ended.
func noisy(t *testing.T, s *server.Server, settled func(server.ProcessStatus) bool) (string, error) {
	t.Helper()
	cut, through := newCutter(t, WebSocket{URL: s.URL()})
	c, err := Connect(t.Context(), through, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, sub, err := c.StartSubscribed(t.Context(), command(fmt.Sprintf("seq -f %%07.0f 1 %d", noiseLines)), Keep)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	e, err := sub.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sum.Write(e.Data)
	cut.leave(true)
	defer cut.leave(false)
	poll.Until(t, time.Minute, "the state of the process", func() bool { return settled(s.Status().Sessions[0].Processes[0]) })
	cut.leave(false)
	exit, err := sub.Copy(t.Context(), sum, nil)
	if err == nil && exit.Code != 0 {
		t.Errorf("%+v", exit)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), err
}

// A command that writes more than is retained while its client is cut off waits
// for it, and everything arrives in order.
func TestOutputIsWholeOverACut(t *testing.T) {
	s := ours(t, server.Options{})
	got, err := noisy(t, s, func(p server.ProcessStatus) bool { return p.Paused })
	if err != nil || got != noiseSum() {
		t.Errorf("%s, want %s, %v", got, noiseSum(), err)
	}
	if m := s.Metrics(); m.LostBytes > 0 {
		t.Errorf("%d bytes were lost", m.LostBytes)
	}
}

// With drop it goes on, and the client is told that output is lost.
func TestOutputLostOverACutIsTold(t *testing.T) {
	s := ours(t, server.Options{WhenFull: server.Drop})
	_, err := noisy(t, s, func(p server.ProcessStatus) bool { return p.State == server.ProcessClosed })
	var lost *LostError
	if !errors.As(err, &lost) {
		t.Errorf("%v", err)
	}
	if m := s.Metrics(); m.LostBytes < 32<<20 {
		t.Errorf("%d bytes were lost", m.LostBytes)
	}
}
