package service

import (
	"maps"
	"slices"
	"testing"

	"github.com/hostsup/hostsup/codec"
)

func TestLedger(t *testing.T) {
	var l ledger
	look := func(life uint64, over bool, open map[uint32]string, ended []uint32, back map[string]int) {
		t.Helper()
		got := l.take(life, over)
		if !maps.Equal(got.open, open) || !slices.Equal(got.ended, ended) || !maps.Equal(got.back, back) {
			t.Errorf("%+v, want open %v, ended %v, back %v", got, open, ended, back)
		}
	}
	look(1, false, nil, nil, nil)
	l.began(1, 1, "a", new(use))
	l.began(1, 2, "b", new(use))
	l.done(1, 1)
	l.done(1, 1)
	look(1, false, map[uint32]string{2: "b"}, nil, map[string]int{"a": 1})
	look(1, false, nil, nil, nil) // already known
	l.done(1, 2)
	l.began(1, 2, "c", new(use)) // ids may be reused
	look(1, true, map[uint32]string{2: "c"}, []uint32{2}, nil)
	// Late reports of an ended life have no effect.
	l.began(1, 3, "d", new(use))
	l.done(1, 2)
	l.began(2, 3, "e", new(use))
	look(2, false, map[uint32]string{3: "e"}, nil, nil)
	// A life without a take before the next one began.
	l.began(4, 1, "f", new(use))
	look(3, true, nil, nil, nil)
	look(4, true, map[uint32]string{1: "f"}, nil, nil)
	look(4, true, nil, nil, nil)
}

func TestLedgerIsBounded(t *testing.T) {
	var l ledger
	for i := range uint32(2 * maxCommands) {
		l.began(1, i, string(rune(i+0x10000)), new(use))
		l.done(1, i)
	}
	if n := len(l.take(1, false).back); n != maxCommands {
		t.Errorf("%d commands are kept", n)
	}
}

// Abandoned calls that the host never answers are eventually dropped.
func TestOpenCallsAreBounded(t *testing.T) {
	var l ledger
	u := new(use)
	const calls = 10 * maxOpen
	for i := range uint32(calls) {
		l.began(1, i, "a", u)
		if i == maxOpen {
			l.take(1, false)
		}
	}
	got := l.take(1, false)
	if n := len(l.open); n < maxOpen || n > 2*maxOpen || l.open[calls-1].command != "a" {
		t.Errorf("%d calls are kept", n)
	}
	if len(got.ended) != maxOpen+1 { // those that the machine knew
		t.Errorf("%d are told to be over", len(got.ended))
	}
}

func TestCommandOfACall(t *testing.T) {
	for params, want := range map[string]string{
		`["a.b"]`: "a.b", `["a.b",{"x":["y"]}]`: "a.b", ` [ "a.b" ]`: "a.b", `["a\"b"]`: `a"b`, `[""]`: "",
		`[1]`: "-", `{}`: "-", `["a`: "-", `["a\`: "-", ``: "-", `[]`: "-",
	} {
		got, ok := new(editor).command(methodCommand, codec.Raw(params))
		if !ok {
			got = "-"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", params, got, want)
		}
	}
	if _, ok := new(editor).command("ExtHostExtensionService.$activateByEvent", codec.Raw(`["a.b"]`)); ok {
		t.Error("an activation is no command")
	}
}
