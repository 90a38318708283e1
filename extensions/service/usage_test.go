package service

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostsup/hostsup/extensions"
)

func TestCallsAreCountedByWhoseTheyAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Service{command: map[string]extensions.ID{"one.a": "x.one", "one.b": "x.one", "two.a": "x.two", "gone": "x.gone"}}
		s.registry, _ = extensions.NewRegistry([]extensions.Extension{{ID: "x.one"}, {ID: "x.two"}, {ID: "x.none"}})
		var here, there ledger
		id := uint32(0)
		call := func(l *ledger, command string, took time.Duration) {
			id++
			l.began(1, id, command, s.uses.of(command))
			if took < 0 {
				return
			}
			time.Sleep(took) //nolint:forbidigo // in a synctest bubble
			l.done(1, id)
			l.done(1, id) // once is enough
		}
		call(&here, "one.a", time.Second)
		call(&there, "one.a", 3*time.Second)
		call(&here, "one.b", 2*time.Second)
		call(&here, "one.b", -1)
		call(&here, "two.a", -1)
		call(&here, "gone", time.Second)
		call(&here, "nobody's", time.Second)
		here.take(1, true) // open calls are never answered
		if got, want := fmt.Sprint(s.figures()), "map[x.one:{4 3 6000000000} x.two:{1 0 0}]"; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	})
}

func TestUsesAreBounded(t *testing.T) {
	var u uses
	for i := range 2 * maxCommands {
		u.of(fmt.Sprint(i)).begin()
	}
	n := 0
	u.all.Range(func(any, any) bool { n++; return true })
	if n != maxCommands || u.rest.calls.Load() != maxCommands {
		t.Errorf("%d commands, %d calls of others", n, u.rest.calls.Load())
	}
}
