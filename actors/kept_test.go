package actors

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// What is kept of what a host says has a bound: why its life ended, what is told of
// it, and the names of its methods.
func TestWhatIsKeptOfAHostIsBounded(t *testing.T) {
	long := strings.Repeat("é", 4<<20)
	f := &Failure{Detail: long}
	redactFailure(record.NoRedactor(), f)
	if want := strings.Repeat("é", record.MaxDetail/2) + fmt.Sprintf("… (%d bytes)", len(long)); f.Detail != want {
		t.Errorf("%d bytes of why it ended, want %d", len(f.Detail), len(want))
	}
	if e := record.NewJournal(nil).Write(record.Event{Reason: long}); len(e.Reason) > record.MaxDetail+100 {
		t.Errorf("%d bytes are told", len(e.Reason))
	}
	c, _ := fakeConn(t, fakeRef())
	for id, method := range []string{long, "short"} {
		if err := c.Receive(&codec.Message{Kind: codec.Notification, ID: uint32(id), Method: method}); err != nil {
			t.Fatal(err)
		}
	}
	all := c.Headers()
	if len(all) != 2 || all[0].Method != fmt.Sprintf("(a name of %d bytes)", len(long)) || all[1].Method != "short" {
		t.Errorf("%.100v", all)
	}
}
