package actors

import (
	"context"
	"os"
	"sync"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/sandbox"
)

// meeting is the transport of a protocol that has a way of its own to come
// together with a host.
type meeting struct {
	codec.Meeting
	cancel context.CancelFunc // ends a Connect
	ctx    context.Context
	wait   sync.WaitGroup
}

// meet prepares the meeting with a host that is about to start, and returns
// what that inherits besides its outputs.
func (t *transport) meet(dirs *folders, can codec.Features, cmd *sandbox.Command) (inherited []*os.File, err error) {
	if t.dir, err = dirs.make(); err != nil {
		return nil, err
	}
	m, err := can.Meet(t.dir)
	if err != nil {
		return nil, err
	}
	t.meeting = &meeting{Meeting: m}
	t.meeting.ctx, t.meeting.cancel = context.WithCancel(context.Background())
	cmd.Env = append(cmd.Env, m.Env()...)
	return m.Files(), nil
}

// connect waits for the host on a goroutine that close ends, and calls came
// with what has become of it: without an error, claim returns the connection.
func (t *transport) connect(came func(error)) {
	m := t.meeting
	m.wait.Go(func() {
		s, err := m.Connect(m.ctx)
		if err == nil {
			t.mu.Lock()
			if t.shut {
				t.mu.Unlock()
				_ = s.Close()
				return
			}
			t.guest = s
			t.mu.Unlock()
		}
		came(err)
	})
}

// end gives everything back but the folder.
func (m *meeting) end(t *transport) {
	t.mu.Lock()
	t.shut = true
	t.mu.Unlock()
	m.cancel()
	m.wait.Wait()
	if t.claim() {
		_ = t.wire.Close()
		t.wire = nil
	}
	_ = m.Close() // everything that could be lost is closed above
}
