package server

import (
	"testing"
	"testing/synctest"
	"time"
)

// A closed process is kept for its client: as long as that is away or has not
// been sent everything, and for the whole time again when it has come back.
func TestClosedProcessIsKeptForItsClient(t *testing.T) {
	const keep = 80 * time.Second
	for name, tt := range map[string]struct {
		happens func(s *session, p *process) // 79 s after the close
		after   time.Duration                // then it is still there, and not a second later
	}{
		"nothing":           {func(*session, *process) {}, 0},
		"it comes back":     {func(s *session, _ *process) { s.attached = time.Now() }, keep - time.Second},
		"it is away":        {func(s *session, _ *process) { s.conn = nil }, 10 * keep},
		"it is sent slowly": {func(s *session, p *process) { p.owner, p.cursor = s.conn, p.nextSeq-1 }, 10 * keep},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := new(Server)
				srv.opt.KeepClosed = keep
				s := &session{srv: srv, conn: new(conn), attached: time.Now(), procs: map[string]*process{}}
				p := newProcess(s, "p", startParams{})
				p.nextSeq, p.cursor, p.closed = 3, 3, true
				s.procs[p.id] = p
				a := &sessionActor{session: s, closed: []aged{{p, time.Now().Add(keep)}}}
				there := func(d time.Duration) bool {
					for end := time.Now().Add(d); ; time.Sleep(time.Second) { //nolint:forbidigo // in a bubble
						a.sweep()
						if a.sweeping != nil {
							a.sweeping.Stop() // this test is the one who looks
						}
						if !time.Now().Before(end) {
							return s.process("p") != nil
						}
					}
				}
				if !there(keep - time.Second) {
					t.Fatal("it was forgotten too early")
				}
				tt.happens(s, p)
				if !there(tt.after) {
					t.Fatal("it was not kept")
				}
				if tt.after < 10*keep && there(time.Second) {
					t.Fatal("it was kept too long")
				}
			})
		})
	}
}
