package link

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/link/linktest"
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
			o := &owner{handlers: map[string]func(context.Context) (codec.Raw, *codec.Error){
				"slow": func(ctx context.Context) (codec.Raw, *codec.Error) {
					close(begun)
					<-ctx.Done()
					return nil, &codec.Error{Name: codec.NameCancelled, Message: ctx.Err().Error()}
				},
				"quick": func(context.Context) (codec.Raw, *codec.Error) { return codec.Raw(`{"says":"quick"}`), nil },
			}}
			session := test.protocol.Open(codec.Limits{})
			w := linktest.NewWire()
			c := newTest(o, session, w, 0)
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
				if err := c.Receive(&m); err != nil {
					t.Fatal(err)
				}
			}
			do(next())
			<-begun
			do(next())
			o.serving.Wait() // its handler has ended, and with it whatever is said of it
			do(next())
			o.serving.Wait()
			do(next()) // the id that was taken back is another request's now
			o.serving.Wait()
			w.Lock()
			said := w.Got.String()
			w.Unlock()
			if n := strings.Count(said, `"id":"a"`); n != test.answers || strings.Count(said, `"quick"`) != 2 {
				t.Errorf("%d answers to a, want %d: %s", n, test.answers, said)
			}
			if strings.Contains(said, "-32800") != (test.answers == 2) {
				t.Error(said)
			}
		})
	}
}
