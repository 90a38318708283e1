//go:build unix

package server

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"

	"github.com/hostsup/hostsup/execserver/wire"
)

// heapInUse is what the heap has after a collection.
func heapInUse() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// A client that pings without end and reads nothing takes no memory: of what it
// is owed, the last pong is enough.
func TestUnreadPingsTakeNoMemory(t *testing.T) {
	const pings, payload = 100_000, 100
	s := startServer(t, Options{Ping: -1})
	w := dialRaw(t, s.URL())
	before, requests := heapInUse(), s.count.requests.Load()
	frame := make([]byte, 6+payload) // with a mask that changes nothing
	frame[0], frame[1] = opPing|opFin, 0x80|payload
	for i := range pings {
		binary.BigEndian.PutUint32(frame[6:], uint32(i))
		if _, err := w.c.Write(frame); err != nil {
			t.Fatal(err)
		}
	}
	w.send(t, `{"id":2,"method":"environment/status"}`)
	eventually(t, "the request behind the pings", func() bool { return s.count.requests.Load() > requests })
	if grown := heapInUse() - before; grown > 4<<20 {
		t.Errorf("%d unread pongs take %d bytes", pings, grown)
	}
	last, answered := -1, false
	for buf := []byte(nil); last != pings-1 || !answered; {
		if buf = w.next(t, buf[:cap(buf)]); len(buf) != payload {
			answered = answered || bytes.Contains(buf, []byte("ready"))
			continue
		}
		n := int(binary.BigEndian.Uint32(buf))
		if n <= last {
			t.Fatalf("the pong of %d came after that of %d", n, last)
		}
		last = n
	}
}

// What is malformed is answered like a request: a client that does not read the
// answers is read no further.
func TestUnreadAnswersToMalformedMessagesAreBounded(t *testing.T) {
	const n = 80_000 // answers of about 150 bytes
	s := startServer(t, Options{Ping: -1})
	w := dialRaw(t, s.URL())
	var c *conn
	s.mu.Lock()
	for c = range s.conns {
	}
	s.mu.Unlock()
	waiting := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.waiting
	}
	go func() {
		for range n {
			w.send(t, `{`)
		}
	}()
	eventually(t, "a queue that is full", func() bool { return waiting() >= queueBytes })
	most := 0
	var buf []byte
	for i := range n {
		buf = w.next(t, buf[:cap(buf)])
		if m, err := wire.Decode(buf); err != nil || m.ID != wire.UnknownID {
			t.Fatal(fmt.Sprint(i), string(buf), err)
		}
		most = max(most, waiting())
	}
	if most > queueBytes+4<<10 {
		t.Errorf("%d bytes of answers waited, want at most %d", most, queueBytes)
	}
}
