//go:build unix

package dscode

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
)

func TestReconnect(t *testing.T) {
	h := newHarness(t)
	main := h.accept()
	acceptedConn := h.dial()
	h.say(asks(2, "lost"), asks(3, "answered"))
	main.hear()
	main.hear()
	main.say("req_3", "answered-response", nil)
	main.Close()
	if m := h.next(); m.ID != 3 || m.Err != nil {
		t.Errorf("%+v", m)
	}
	again := h.accept()
	if m := h.next(); m.ID != 2 || m.Err == nil || m.Err.Name != NameConnectionLost {
		t.Errorf("%+v", m)
	}
	h.say(asks(4, "later"))
	if got := again.hear(); got.ID != "req_4" {
		t.Errorf("%+v", got)
	}
	again.say("req_4", "later-response", true)
	if m := h.next(); m.ID != 4 || string(m.Result) != "true" {
		t.Errorf("%+v", m)
	}
	acceptedConn.say("msg_1", "not harmed", nil)
	if m := h.next(); m.Method != "not harmed" {
		t.Errorf("%+v", m)
	}
}

// What could not be written whole before the end goes out on the next
// connection, in order; what was is answered.
func TestNothingIsLostTwice(t *testing.T) {
	h := newHarness(t)
	main := h.accept()
	pad := codec.Raw(`"` + strings.Repeat("x", 100<<10) + `"`)
	const n = 40
	var wrote sync.WaitGroup
	wrote.Go(func() {
		for id := uint32(2); id < 2+n; id++ {
			m := asks(id, "a")
			m.Params = pad
			h.say(m)
		}
	})
	main.hear()
	main.Close()
	again := h.accept()
	wrote.Wait()
	lost := 0
	var m codec.Message
	h.say(asks(100, "last"))
	var got []string
	for {
		w := again.hear()
		got = append(got, w.ID)
		if w.Type == "last" {
			break
		}
	}
	again.say("req_100", "last-response", nil)
	// What was lost is told once the connection has lasted, which may be behind
	// its first answer.
	for answered := false; !answered || lost+len(got) <= n; {
		switch m = h.next(); {
		case m.ID == 100 && m.Err == nil && !answered:
			answered = true
		case m.Err != nil && m.Err.Name == NameConnectionLost && m.ID == uint32(2+lost):
			lost++
		default:
			t.Fatalf("%+v", m)
		}
	}
	if lost == 0 || lost+len(got) != n+1 || got[0] != fmt.Sprintf("req_%d", 2+lost) {
		t.Errorf("%d answered as lost, %d came later from %s on", lost, len(got), got[0])
	}
}

// A host that reads no more from its socket and lives is connected again.
func TestHostThatShutsItsReadingHalf(t *testing.T) {
	h := newHarness(t)
	main := h.accept()
	if err := main.CloseRead(); err != nil {
		t.Fatal(err)
	}
	h.say(asks(2, "a"))
	again := h.accept()
	if got := again.hear(); got.ID != "req_2" {
		t.Errorf("%+v", got)
	}
}

func TestHostThatCannotBeReachedAgain(t *testing.T) {
	t.Parallel() // it takes nine seconds
	h := newHarness(t)
	main := h.accept()
	h.say(asks(2, "a"))
	h.ln.Close()
	main.Close()
	began := time.Now()
	var m codec.Message
	err := h.r.Next(&m)
	if err == nil || errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "the connection to the host has ended and cannot be made again: attempt 10 of 10") {
		t.Errorf("%v", err)
	}
	if took := time.Since(began); took < 9*time.Second || took > 30*time.Second {
		t.Errorf("after %s", took)
	}
	if _, err := h.st.Write(must(t, h.s, nil, asks(3, "b"))); err == nil {
		t.Error("written all the same")
	}
}

// One that accepts and closes at once is as good as none: ten attempts.
func TestHostThatAcceptsAndCloses(t *testing.T) {
	t.Parallel() // it takes nine seconds
	h := newHarness(t)
	main := h.accept()
	h.say(asks(2, "a"))
	main.hear()
	var accepted sync.WaitGroup
	n := 0
	accepted.Go(func() {
		for {
			c, err := h.ln.AcceptUnix()
			if err != nil {
				return
			}
			c.Close()
			n++
		}
	})
	_ = h.ln.SetDeadline(time.Now().Add(time.Minute))
	main.Close()
	var m codec.Message
	if err := h.r.Next(&m); err == nil || !strings.Contains(err.Error(), "attempt 10 of 10 to connect: the connection ended at once") {
		t.Errorf("%+v, %v", m, err)
	}
	h.ln.Close()
	accepted.Wait()
	if n != attempts {
		t.Errorf("%d attempts", n)
	}
}
