package vscode

import (
	"context"
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
			if got, err := asks(p.Serve(methodRecall), host, `[`+scope+`,"A.b"]`); err != nil || got != want {
				t.Errorf("%s, %v; want %s", got, err, want)
			}
		}
	}
	recalls("null", "true")
	first, second := p.Serve(methodRemember), beside.Serve(methodRemember)
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
	if _, err := asks(p.Serve(methodRemember), "code", `[true,"a.b",{"$undefined":true}]`); err != nil {
		t.Error(err)
	}
	for _, params := range []string{"", "[]", "{}", `[true]`, `[1,"a.b"]`, `[true,7]`, `[true,"../x"]`, `[true,".."]`, `[true,"a"]`, `[true,"a.` + strings.Repeat("b", 300) + `"]`} {
		if _, err := asks(p.Serve(methodRecall), "code", params); err == nil {
			t.Errorf("%s is answered", params)
		}
	}
	if _, err := asks(p.Serve(methodRemember), "code", `[true,"a./../../../x",{}]`); err != nil {
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
