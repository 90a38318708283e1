package actors

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/link"
)

func TestErrorsOfTheHost(t *testing.T) {
	c, _ := fakeConn(t, fakeRef())
	q := sent(t, c)
	own := &codec.Error{Name: "Mine", Message: "what"}
	if err := c.Receive(&codec.Message{Kind: codec.Response, ID: q.ID(), Err: own}); err != nil || !errors.Is(result(t, q), own) {
		t.Errorf("%v, %v", err, result(t, q))
	}
	q = sent(t, c)
	none := &codec.Error{Name: codec.NameMethodNotFound, Message: "no echo here"}
	if err := c.Receive(&codec.Message{Kind: codec.Response, ID: q.ID(), Err: none}); err != nil || !errors.Is(result(t, q), ErrNoSuchMethod) || !errors.Is(result(t, q), none) {
		t.Errorf("%v, %v", err, result(t, q))
	}
}

// TestReasons holds the words of each way in which a call ends without a result.
func TestReasons(t *testing.T) {
	ref := fakeRef()
	for _, row := range []struct {
		cause error
		class error
		want  string
	}{
		{&link.TimeoutError{After: 5 * time.Second}, ErrTimeout, `call m of host "h": timed out after 5s`},
		{context.DeadlineExceeded, ErrTimeout, `call m of host "h": timed out at its context's deadline`},
		{context.Canceled, ErrCancelled, `call m of host "h": cancelled`},
		{&link.OverloadError{Owed: 7}, ErrOverloaded, `call m of host "h": too many requests pending (host owes 7 answers to callers that are gone)`},
		{&codec.FrameError{Err: codec.ErrTooLarge, Offset: -1}, ErrUnsendable, `call m of host "h": the host's protocol cannot carry the message (frame over the limit)`},
	} {
		if err := ref.reason("m", row.cause); !errors.Is(err, row.class) || err.Error() != row.want {
			t.Errorf("%v: %v", row.cause, err)
		}
	}
}
