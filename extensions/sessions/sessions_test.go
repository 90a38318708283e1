package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/hostsup/hostsup/extensions/sessions"
)

// counted counts how often it is closed.
type counted struct{ closed chan struct{} }

func (c counted) Close() error {
	c.closed <- struct{}{}
	return nil
}

func TestCloseEndsAllSessionsAndWaitsForThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, reason := sessions.New(), errors.New("the end")
		stream := counted{make(chan struct{}, 9)}
		s, err := g.Begin(t.Context(), stream)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 2)
		g.Go(func() {
			<-g.Context().Done()
			done <- context.Cause(g.Context())
		})
		go func() {
			g.Close(reason)
			done <- nil
		}()
		<-stream.closed // which ends what the session reads
		if err := <-done; !errors.Is(err, reason) || !errors.Is(context.Cause(s.Context), reason) {
			t.Errorf("%v %v", err, context.Cause(s.Context))
		}
		synctest.Wait()
		if len(done) != 0 {
			t.Error("Close has not waited for the session")
		}
		s.End()
		s.End()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if _, err := g.Begin(t.Context(), stream); !errors.Is(err, reason) {
			t.Error(err)
		}
		g.Close(errors.New("again"))
	})
}

func TestSessionEndsByItsOwnCauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, left := sessions.New(), errors.New("the client has left")
		stream := counted{make(chan struct{}, 9)}
		ctx, cancel := context.WithCancelCause(t.Context())
		s, err := g.Begin(ctx, stream)
		if err != nil {
			t.Fatal(err)
		}
		cancel(left)
		<-stream.closed
		if cause := context.Cause(s.Context); !errors.Is(cause, left) {
			t.Error(cause)
		}
		s.End()
		if s, err = g.Begin(t.Context(), stream); err != nil {
			t.Fatal(err)
		}
		s.Stop(left)
		s.Stop(errors.New("later"))
		if cause := context.Cause(s.Context); !errors.Is(cause, left) {
			t.Error(cause)
		}
		s.End()
		g.Close(nil)
	})
}

func ExampleGroup() {
	g := sessions.New()
	serve := func(ctx context.Context, client counted) error {
		s, err := g.Begin(ctx, client)
		if err != nil {
			return err
		}
		defer s.End()
		return nil
	}
	client := counted{make(chan struct{}, 9)}
	fmt.Println(serve(context.Background(), client))
	g.Close(errors.New("the host was removed"))
	fmt.Println(serve(context.Background(), client))
	// Output:
	// <nil>
	// the host was removed
}
