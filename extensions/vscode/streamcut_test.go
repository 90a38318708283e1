package vscode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostsup/hostsup/codec/vscode/persistent"
	"github.com/hostsup/hostsup/internal/poll"
)

// socketPairs gives both sides of a conversation one socket after the other.
type socketPairs struct {
	mu    sync.Mutex
	rng   *rand.Rand
	last  bool // the next does not break
	made  int
	waits chan *pipe
}

func (h *socketPairs) next(<-chan struct{}) (socket, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case p := <-h.waits:
		return p, nil
	default:
	}
	left := 1 + h.rng.IntN(3000)
	if h.last || h.made > 60 {
		left = -1
	}
	h.made++
	a, b := pipes(left)
	h.waits <- b
	return a, nil
}

// Whatever happens to sockets, in the middle of whatever: all of it arrives, in
// order, once.
func TestSocketsAreCut(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := &socketPairs{rng: rand.New(rand.NewPCG(seed, 3)), waits: make(chan *pipe, 1)}
			const messages = 150
			sides := [2]*stream{}
			for i := range sides {
				c, _ := h.next(nil)
				sides[i] = newStream(c, h.next, DefaultGrace)
			}
			var all sync.WaitGroup
			for i, s := range sides {
				rng := rand.New(rand.NewPCG(seed, uint64(i)))
				size := func(n int) int { return 5 + n*7919%700 }
				all.Go(func() {
					for n := range messages {
						data := bytes.Repeat([]byte{rpcEmpty}, size(n))
						binary.BigEndian.PutUint32(data[1:], uint32(n))
						b := []byte(framed(string(data)))
						for len(b) > 0 {
							k := min(len(b), 1+rng.IntN(900))
							if _, err := s.Write(b[:k]); err != nil {
								t.Error(err)
								return
							}
							b = b[k:]
						}
					}
				})
				all.Go(func() {
					for n := range messages {
						b := make([]byte, persistent.HeaderSize+size(n))
						if _, err := io.ReadFull(s, b); err != nil {
							t.Errorf("message %d: %v", n, err)
							return
						}
						if got := binary.BigEndian.Uint32(b[persistent.HeaderSize+1:]); int(got) != n || int(persistent.ParseHeader(b).Length) != size(n) {
							t.Errorf("message %d of %+v in place %d", got, persistent.ParseHeader(b), n)
							return
						}
					}
					// Whoever has read everything still hears acks, and makes sockets.
					_, _ = s.Read(make([]byte, 1))
				})
			}
			for _, s := range sides {
				poll.Until(t, time.Minute, "it does not come true", func() bool {
					s.mu.Lock()
					defer s.mu.Unlock()
					return s.m.Received() == messages
				})
			}
			for _, s := range sides {
				s.Close()
			}
			all.Wait()
			for len(h.waits) > 0 {
				(<-h.waits).Close()
			}
			if h.made < 5 {
				t.Errorf("%d sockets", h.made)
			}
		})
	}
}

// A socket over which nothing comes any more is let go of after twenty seconds.
func TestSocketTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pipes(-1)
		c, d := pipes(-1)
		s := newStream(a, func(<-chan struct{}) (socket, error) { return c, nil }, DefaultGrace)
		r := reading(s)
		defer func() {
			s.Close()
			<-r.done
		}()
		go discard(b)
		begin := time.Now()
		if _, err := s.Write([]byte(framed("x"))); err != nil {
			t.Fatal(err)
		}
		p := peer{t, d}
		p.expects("ack 0/0 ")
		p.expects("regular 1/0 x")
		if took := time.Since(begin); took < persistent.TimeoutAfter || took > persistent.TimeoutAfter+2*time.Second {
			t.Error(took)
		}
	})
}

// A host that is not heard over any of the sockets after one is given up when
// the time for that is over.
func TestGraceIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const grace = 50 * time.Second
		a, b := pipes(-1)
		handed := 0
		s := newStream(a, func(<-chan struct{}) (socket, error) {
			handed++
			c, d := pipes(-1)
			go discard(d)
			return c, nil
		}, grace)
		defer s.Close()
		go discard(b)
		r := reading(s)
		begin := time.Now()
		if _, err := s.Write([]byte(framed("x"))); err != nil {
			t.Fatal(err)
		}
		<-r.done
		if took := time.Since(begin) - persistent.TimeoutAfter; took < grace || took > grace+2*time.Second {
			t.Error(took)
		}
		if !errors.Is(r.err, errLost) || handed == 0 {
			t.Error(r.err, handed)
		}
	})
}
