package vscode

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	p := New(Options{State: state})
	beside := p.Beside("code")
	asks := func(s codec.Service, host, params string) (string, error) {
		t.Helper()
		raw, err := s(context.Background(), host, codec.Raw(params))
		return string(raw), err
	}
	recalls := func(want, scope string) {
		t.Helper()
		for p, host := range map[*Protocol]string{p: "code", beside: "code~a.b"} {
			if got, err := asks(p.Serve(methodGetState), host, `[`+scope+`,"A.b"]`); err != nil || got != want {
				t.Errorf("%s, %v; want %s", got, err, want)
			}
		}
	}
	recalls("null", "true")
	first, second := p.Serve(methodSetState), beside.Serve(methodSetState)
	for _, s := range []struct {
		codec.Service
		host, value string
	}{{second, "code~a.b", `{"n":2}`}, {first, "code", `{"n":1}`}} { // which comes too late
		if _, err := asks(s.Service, s.host, `[true,"a.B",`+s.value+`]`); err != nil {
			t.Error(err)
		}
	}
	recalls(`"{\"n\":2}"`, "true")
	recalls("null", "false")
	if _, err := asks(p.Serve(methodSetState), "code", `[true,"a.b",{"$undefined":true}]`); err != nil {
		t.Error(err)
	}
	for _, params := range []string{"", "[]", "{}", `[true]`, `[1,"a.b"]`, `[true,7]`, `[true,"../x"]`, `[true,".."]`, `[true,"a"]`, `[true,"a.` + strings.Repeat("b", 300) + `"]`} {
		if _, err := asks(p.Serve(methodGetState), "code", params); err == nil {
			t.Errorf("%s is answered", params)
		}
	}
	if _, err := asks(p.Serve(methodSetState), "code", `[true,"a./../../../x",{}]`); err != nil {
		t.Error(err)
	}
	var files []string
	if err := filepath.WalkDir(state, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, strings.TrimPrefix(path, state))
		}
		return err
	}); err != nil || strings.Join(files, " ") != "/.memory/code/global/a.%2F..%2F..%2F..%2Fx.json" {
		t.Errorf("%q, %v", files, err)
	}
	if p.Serve("MainThreadStorage.$other") != nil {
		t.Error("it is served")
	}
}

// A host cannot have files without end written.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	remember := func(p *Protocol, id, value string) error {
		t.Helper()
		_, err := p.Serve(methodSetState)(context.Background(), "code", codec.Raw(`[true,"`+id+`",`+value+`]`))
		return err
	}
	p := New(Options{State: state})
	for i := range maxValues {
		if err := remember(p, fmt.Sprint("a.b", i), `{"n":1}`); err != nil {
			t.Fatal(i, err)
		}
	}
	for range 2 { // the second time by who only finds the files
		if err := remember(p, "a.more", `{"n":1}`); err == nil || !strings.Contains(err.Error(), "limit") {
			t.Error(err)
		}
		if err := remember(p, "a.b0", `{"n":2}`); err != nil {
			t.Error("what is there cannot be changed:", err)
		}
		p = New(Options{State: state})
	}
	for i := range maxValues {
		if err := remember(p, fmt.Sprint("a.none", i), `{"$undefined":true}`); err != nil {
			t.Fatal(err)
		}
	}
	if s := p.mementos.scope(filepath.Join(state, ".memory", "code", "global")); len(s.written) > maxValues {
		t.Errorf("%d turns are kept", len(s.written))
	}
	if err := remember(p, "a.b1", `{"$undefined":true}`); err != nil {
		t.Error(err)
	}
	if err := remember(p, "a.more", `{"n":1}`); err != nil {
		t.Error("there is room again:", err)
	}
	if err := remember(p, "a.more", `{"n":"`+strings.Repeat("x", maxValue)+`"}`); err == nil || !strings.Contains(err.Error(), "limit") {
		t.Error(err)
	}
	full := &scope{sizes: map[string]int64{"a": maxBytes - 10, "b": 10}, bytes: maxBytes}
	if err := full.checkRoom("c", 1); err == nil {
		t.Error("there is room where all is taken")
	}
	if err := full.checkRoom("b", 5); err != nil {
		t.Error(err)
	}
	raw, err := p.Serve(methodGetState)(context.Background(), "code", codec.Raw(`[true,"a.b0"]`))
	if err != nil || string(raw) != `"{\"n\":2}"` {
		t.Errorf("%s, %v", raw, err)
	}
}
