package actors

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
)

// A request that the host takes back is answered with an error, or not at all
// where its protocol has it so; either way its id is free again.
func TestRequestTakenBack(t *testing.T) {
	for _, test := range []struct {
		protocol codec.Protocol
		cancel   string
		answers  int
	}{
		{jsonrpc.Lines(jsonrpc.Options{}), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`, 1},
		{jsonrpc.Headers(jsonrpc.Options{}), `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"a"}}`, 2},
	} {
		t.Run(test.protocol.Name(), func(t *testing.T) {
			begun := make(chan struct{})
			ref := fakeRef()
			ref.spec.Protocol = test.protocol
			ref.spec.Answers.Handlers = map[string]Handler{
				"slow": func(ctx context.Context, _ *Incoming) (any, error) {
					close(begun)
					<-ctx.Done()
					return nil, ctx.Err()
				},
				"quick": func(context.Context, *Incoming) (any, error) { return map[string]string{"says": "quick"}, nil },
			}
			ref.answers = newAnswers(ref.world, &ref.spec)
			w := newFakeWire()
			session := test.protocol.Open(codec.Limits{})
			c := newConn(ref, 1, session, w, 2)
			frame := func(body string) string {
				if test.answers == 1 {
					return body + "\n"
				}
				return "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
			}
			r := session.NewReader(strings.NewReader(frame(`{"jsonrpc":"2.0","id":"a","method":"slow"}`) + frame(test.cancel) +
				frame(`{"jsonrpc":"2.0","id":"b","method":"quick"}`) + frame(`{"jsonrpc":"2.0","id":"a","method":"quick"}`)))
			next := func() (m codec.Message) {
				t.Helper()
				if err := r.Next(&m); err != nil {
					t.Fatal(err)
				}
				return m
			}
			do := func(m codec.Message) {
				t.Helper()
				if err := c.serve(&m); err != nil {
					t.Fatal(err)
				}
			}
			do(next())
			<-begun
			c.unserve(next().ID)
			ref.world.Served() // its handler has ended, and with it whatever is said of it
			do(next())
			ref.world.Served()
			do(next()) // the id that was taken back is another request's now
			ref.world.Served()
			c.out.mu.Lock()
			said := string(c.out.buf)
			c.out.mu.Unlock()
			if n := strings.Count(said, `"id":"a"`); n != test.answers || strings.Count(said, `"quick"`) != 2 {
				t.Errorf("%d answers to a, want %d: %s", n, test.answers, said)
			}
			if strings.Contains(said, "-32800") != (test.answers == 2) {
				t.Error(said)
			}
		})
	}
}
