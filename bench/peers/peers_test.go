package peers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/internal/require"
)

// TestMain lets the test binary stand for the servers, as bench's own does.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "serve" {
		socket := ""
		if len(os.Args) > 3 {
			socket = os.Args[3]
		}
		if err := RunServer(os.Args[2], socket); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "demo-host" {
		os.Exit(DemoHost())
	}
	leaktest.Main(m)
}

func dialed(t *testing.T, p Peer) Conn {
	t.Helper()
	c, err := p.Dial()
	if errors.Is(err, ErrMissing) {
		require.Missing(t, "%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

func TestEveryPeerEchoes(t *testing.T) {
	for _, p := range All() {
		t.Run(p.Name, func(t *testing.T) {
			c := dialed(t, p)
			callers := 16
			if p.Sequential {
				callers = 1
			}
			var wg sync.WaitGroup
			for i := range callers {
				wg.Go(func() {
					for j := range 50 {
						want := fmt.Appendf(nil, "%04d %04d %s", i, j, bytes.Repeat([]byte{'x'}, 90))
						got, err := c.Echo(t.Context(), want)
						if err != nil || !bytes.Equal(got, want) {
							t.Errorf("sent %q, got %q, %v", want, got, err)
							return
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

func TestParkedRequestsWaitForTheirContext(t *testing.T) {
	for _, name := range []string{"hostsup", "framed-table", "ttrpc", "grpc-go"} {
		t.Run(name, func(t *testing.T) {
			c, err := DialParker(name, 100)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			// Not a deadline: a server may see one pass before we do.
			ctx, cancel := context.WithCancel(t.Context())
			defer time.AfterFunc(50*time.Millisecond, cancel).Stop()
			if err := c.Park(ctx); err == nil || ctx.Err() == nil {
				t.Errorf("Park returned %v while its context was %v", err, ctx.Err())
			}
			// The connection is as good as before.
			if got, err := c.Echo(t.Context(), []byte("after")); err != nil || string(got) != "after" {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestNoPeerOfThatName(t *testing.T) {
	if _, err := Named("nobody"); err == nil {
		t.Error("found a peer that is none")
	}
	if _, err := DialParker("bare-socket", 1); err == nil {
		t.Error("the bare socket parked a request")
	}
}
