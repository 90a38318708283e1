package feed_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/intercept/feed"
	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/link/linktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// newFeed returns the feed of a host, with the interceptor that fills it.
func newFeed(show feed.Show) (*feed.Feed, *actors.Interceptor) {
	log := hclog.NewNullLogger()
	host := actors.Detached(&actors.World{System: safeactor.NewSystem(log), Log: log, Journal: record.NewJournal(nil)}, actors.HostSpec{Spec: hostspec.Spec{
		Name: "h", Command: []string{"x"}, Protocol: native.New(),
	}})
	f := feed.New(host, show)
	return f, f.Interceptor()
}

// follower reads a feed. Its fields must be read after synctest.Wait.
type follower struct {
	got   []string // methods; "lost 3"
	all   []feed.Message
	ended bool
	next  chan struct{} // a message is taken for each; closed: all are
	most  int           // messages until it stops reading; 0: no limit
}

// follow begins to read f in a goroutine of the bubble.
func follow(ctx context.Context, f *feed.Feed, w *follower) *follower {
	go func() {
		for m := range f.Messages(ctx) {
			w.all = append(w.all, m)
			if m.Lost > 0 {
				w.got = append(w.got, fmt.Sprint("lost ", m.Lost))
			} else {
				w.got = append(w.got, m.Method)
			}
			if len(w.got) == w.most {
				break
			}
			if w.next != nil {
				<-w.next
			}
		}
		w.ended = true
	}()
	synctest.Wait()
	return w
}

func (w *follower) expect(t testing.TB, want ...string) {
	t.Helper()
	synctest.Wait()
	if !slices.Equal(w.got, want) {
		t.Errorf("%q, want %q", w.got, want)
	}
}

func send(t testing.TB, i *actors.Interceptor, methods ...string) {
	t.Helper()
	for _, method := range methods {
		v := i.Inbound(3, &codec.Message{Kind: codec.Notification, Method: method})
		if v.Err != nil || v.Taken || v.Message != nil || v.Reply != nil || v.Handle != nil {
			t.Errorf("the feed decides about %s: %+v", method, v)
		}
	}
}

func TestFollowersGetMessagesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, i := newFeed(nil)
		if i.Stage != actors.StageWatch || i.Value != f {
			t.Errorf("%+v", i)
		}
		ctx, cancel := context.WithCancel(t.Context())
		send(t, i, "before")
		one := follow(ctx, f, &follower{})
		send(t, i, "a", "b")
		synctest.Wait()
		two := follow(t.Context(), f, &follower{})
		send(t, i, "c")
		one.expect(t, "a", "b", "c")
		two.expect(t, "c")

		cancel()
		synctest.Wait()
		if !one.ended || two.ended {
			t.Errorf("when the first has canceled: %v, %v", one.ended, two.ended)
		}
		send(t, i, "d", "e")
		i.Closed()
		one.expect(t, "a", "b", "c")
		two.expect(t, "c", "d", "e") // what is there is read to its end
		if !two.ended {
			t.Error("it goes on after the end of the host")
		}
		if late := follow(t.Context(), f, &follower{}); !late.ended || len(late.got) > 0 {
			t.Errorf("after the end of the host: %q", late.got)
		}
	})
}

func TestMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, i := newFeed(nil)
		w := follow(t.Context(), f, &follower{})
		time.Sleep(time.Minute) //nolint:forbidigo // in a synctest bubble
		params, err := native.New().Marshal([]any{1, "x"})
		if err != nil {
			t.Fatal(err)
		}
		i.Inbound(3, &codec.Message{Kind: codec.Request, ID: 9, Method: "get", Params: params})
		synctest.Wait()
		m := w.all[0]
		if !m.Time.Equal(time.Now()) || m.Host != "h" || m.Life != 3 || m.Kind != codec.Request || !bytes.Equal(m.Params, params) || m.Encoding == nil {
			t.Errorf("%+v", m)
		}
		text, err := json.Marshal(m)
		if want := `{"time":"2000-01-01T00:01:00Z","host":"h","life":3,"kind":"request","method":"get","params":[1,"x"]}`; err != nil ||
			strings.Replace(string(text), m.Time.Format(time.RFC3339Nano), "2000-01-01T00:01:00Z", 1) != want {
			t.Errorf("%s, %v, want %s", text, err, want)
		}
		i.Closed()
	})
}

func TestJSON(t *testing.T) {
	packed := native.New()
	for want, m := range map[string]feed.Message{
		`{"lost":5}`: {Lost: 5, Method: "x"},
		`{"time":"0001-01-01T00:00:00Z","host":"","life":0,"kind":"notification","method":"n","params":null}`:           {Kind: codec.Notification, Method: "n", Encoding: packed},
		`{"time":"0001-01-01T00:00:00Z","host":"","life":0,"kind":"notification","method":"text","params":null}`:        {Kind: codec.Notification, Method: "text", Encoding: jsonrpc.Lines(jsonrpc.Options{})},
		`{"time":"0001-01-01T00:00:00Z","host":"","life":0,"kind":"notification","method":"broken","params":null}`:      {Kind: codec.Notification, Method: "broken", Params: codec.Raw{0xc1}, Encoding: packed},
		`{"time":"0001-01-01T00:00:00Z","host":"","life":0,"kind":"notification","method":"no encoding","params":null}`: {Kind: codec.Notification, Method: "no encoding", Params: codec.Raw{1}},
		`{"time":"0001-01-01T00:00:00Z","host":"","life":0,"kind":"request","method":"r","params":1}`:                   {Kind: codec.Request, Method: "r", Params: codec.Raw{1}, Encoding: packed},
	} {
		if text, err := json.Marshal(m); err != nil || string(text) != want {
			t.Errorf("%s, %v\nwant %s", text, err, want)
		}
	}
}

func TestSecretsAreNotInJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		f, i := newFeed(func(m *codec.Message) (json.RawMessage, string) {
			if asked++; m.Method != "log s3cret" {
				return nil, "unused"
			}
			return json.RawMessage(`"***"`), "log ***"
		})
		send(t, i, "log s3cret")
		if asked != 0 {
			t.Error("without a follower a message costs something")
		}
		w := follow(t.Context(), f, &follower{})
		i.Inbound(1, &codec.Message{Kind: codec.Notification, Method: "log s3cret", Params: codec.Raw{1}})
		i.Inbound(1, &codec.Message{Kind: codec.Notification, Method: "plain", Params: codec.Raw{1}})
		w.expect(t, "log s3cret", "plain")
		for n, want := range []string{`"method":"log ***","params":"***"}`, `"method":"plain","params":1}`} {
			if text, err := json.Marshal(w.all[n]); err != nil || !strings.HasSuffix(string(text), want) {
				t.Errorf("%s, %v, want %s", text, err, want)
			}
		}
		if !bytes.Equal(w.all[0].Params, codec.Raw{1}) {
			t.Error("Params are not those of the host")
		}
		i.Closed()
	})
}

// A follower that does not read keeps nobody from sending, and learns how many messages
// it has missed.
func TestSlowFollowers(t *testing.T) {
	const ahead, most = 1024, 8 << 20 // messages and bytes that a follower may be behind
	big := func(i *actors.Interceptor, method string, bytes int) {
		i.Inbound(1, &codec.Message{Kind: codec.Notification, Method: method, Params: make(codec.Raw, bytes)})
	}
	for name, c := range map[string]struct {
		send func(t *testing.T, i *actors.Interceptor) // while the follower has "first" and does not read
		want []string
	}{
		"messages": {func(t *testing.T, i *actors.Interceptor) {
			for range ahead + 3 {
				send(t, i, "m")
			}
		}, append(slices.Repeat([]string{"m"}, ahead), "lost 3")},
		"bytes": {func(t *testing.T, i *actors.Interceptor) {
			big(i, "a", most-1)
			big(i, "b", 1)
			big(i, "c", 1)
		}, []string{"a", "b", "lost 1"}},
		"bytes of what is shown instead": {func(t *testing.T, i *actors.Interceptor) {
			big(i, "a", 1)
			send(t, i, "secret")
		}, []string{"a", "lost 1"}},
		"one message with more than all bytes": {func(t *testing.T, i *actors.Interceptor) {
			big(i, "a", 2*most)
			big(i, "b", 0)
		}, []string{"a", "lost 1"}},
		"nothing comes behind a gap before the gap is reported": {func(t *testing.T, i *actors.Interceptor) {
			big(i, "a", most-10)
			big(i, "b", 100)
			big(i, "c", 1)
		}, []string{"a", "lost 2"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			f, i := newFeed(func(m *codec.Message) (json.RawMessage, string) {
				if m.Method != "secret" {
					return nil, ""
				}
				return make(json.RawMessage, most), m.Method
			})
			slow := follow(t.Context(), f, &follower{next: make(chan struct{})})
			quick := follow(t.Context(), f, &follower{})
			send(t, i, "first")
			synctest.Wait()
			c.send(t, i)
			synctest.Wait()
			if len(slow.got) != 1 {
				t.Errorf("%s: %q", name, slow.got)
			}
			close(slow.next)
			synctest.Wait()
			big(i, "next", most-1) // after the gap it goes on
			big(i, "last", 1)
			synctest.Wait()
			if want := slices.Concat([]string{"first"}, c.want, []string{"next", "last"}); !slices.Equal(slow.got, want) {
				t.Errorf("%s: %q\nwant %q", name, tail(slow.got), tail(want))
			}
			if quick.got[len(quick.got)-1] != "last" {
				t.Errorf("%s: a slow follower stops a quick one: %q", name, tail(quick.got))
			}
			i.Closed()
		})
	}
}

// tail is the end of a list.
func tail(list []string) []string { return list[max(0, len(list)-5):] }

func TestFollowerThatBreaksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		f, i := newFeed(func(*codec.Message) (json.RawMessage, string) {
			asked++
			return nil, ""
		})
		w := follow(t.Context(), f, &follower{most: 2, next: make(chan struct{})})
		send(t, i, "first")
		w.expect(t, "first")
		send(t, i, "a", "b") // it breaks off with the second one left
		close(w.next)
		w.expect(t, "first", "a")
		if send(t, i, "c"); !w.ended || asked != 3 {
			t.Errorf("ended: %v; %d messages were prepared, want 3", w.ended, asked)
		}
		i.Closed()
	})
}

func TestFeedOfAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, of := hclog.NewNullLogger(), (*feed.Feed)(nil)
		host := actors.Detached(&actors.World{System: safeactor.NewSystem(log), Log: log, Journal: record.NewJournal(nil)}, actors.HostSpec{Spec: hostspec.Spec{Name: "h", Command: []string{"x"}, Protocol: native.New()}, Interceptors: func(host *actors.Ref) []*actors.Interceptor {
			of = feed.New(host, nil)
			return []*actors.Interceptor{of.Interceptor()}
		}})
		ctx, cancel := context.WithCancel(t.Context())
		w := follow(ctx, of, &follower{})
		for life := range uint64(2) {
			session := native.Open(codec.Limits{})
			linktest.Shake(t, session)
			line, end := host.Connect(life+1, session, linktest.NewWire(), linktest.Shaken(codec.CapAll))
			call, err := host.Go(ctx, "echo", nil)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			for _, m := range []codec.Message{
				{Kind: codec.Request, ID: 1, Method: "request"}, {Kind: codec.Response, ID: 2}, {Kind: codec.Notification, Method: fmt.Sprint("life ", life+1)},
			} {
				if err := line.Receive(&m); err != nil {
					t.Fatal(err)
				}
			}
			<-call.Done()
			end(actors.ErrStopped)
		}
		w.expect(t, "request", "life 1", "request", "life 2") // answers are not among them
		if w.all[3].Life != 2 {
			t.Errorf("life %d", w.all[3].Life)
		}
		cancel()
		synctest.Wait()
	})
}
