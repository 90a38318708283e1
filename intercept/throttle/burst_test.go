package throttle_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/codec/msgpackrpc"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/extensions/dscode"
	"github.com/hostsup/hostsup/intercept/throttle"
	"github.com/hostsup/hostsup/link/linktest"
)

// However many calls and notifications come while one write is under way, the
// next write has them all, in every protocol; what is held back goes with them.
// (VS Code's needs an installed build: codec/vscode tests its stream.)
func TestBurstsAreOneWrite(t *testing.T) {
	protocols := map[string]codec.Protocol{
		"hostsup": native.New(), "dscode": dscode.New(), "msgpack-rpc": msgpackrpc.New(msgpackrpc.Options{}),
		"jsonrpc-headers": jsonrpc.Headers(jsonrpc.Options{}), "jsonrpc-lines": jsonrpc.Lines(jsonrpc.Options{}),
	}
	for name, p := range protocols {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ref := thin(p, throttle.Rule{Method: "change", Every: time.Second, Key: "uri"})
				session := p.Open(codec.Limits{})
				if name == "hostsup" {
					linktest.Shake(t, session)
				}
				w := linktest.NewWire()
				w.Room, w.Gate = 0, make(chan struct{})
				_, end := ref.Connect(1, session, w, linktest.Shaken(0))
				tell := func(method string, n int) {
					t.Helper()
					if err := ref.Notify(t.Context(), method, []any{map[string]any{"uri": "a", "n": n}}); err != nil {
						t.Fatal(err)
					}
				}
				tell("first", 0)
				synctest.Wait() // it is being written
				for n := range 300 {
					if _, err := ref.Go(t.Context(), "call", []any{n}); err != nil {
						t.Fatal(err)
					}
					tell("note", n)
					tell("change", n)
				}
				close(w.Gate)
				synctest.Wait()
				w.Lock()
				if w.Writes != 2 || w.Tries > 1 {
					t.Errorf("%d and %d writes", w.Writes, w.Tries)
				}
				w.Writes, w.Gate = 0, nil
				size := w.Got.Len()
				w.Unlock()
				time.Sleep(time.Second) //nolint:forbidigo // in a synctest bubble
				synctest.Wait()
				w.Lock()
				if w.Writes > 1 || w.Got.Len() < size {
					t.Errorf("%d writes of what was held", w.Writes)
				}
				w.Unlock()
				st := ref.Status().Throttle[0]
				if st.Sent+st.Coalesced != 300 || st.Sent < 2 {
					t.Errorf("%+v", st)
				}
				end(actors.ErrStopped)
			})
		})
	}
}
