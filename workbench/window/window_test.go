package window

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/workbench"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// ask calls a method and returns its result as JSON.
func ask(t *testing.T, s *Service, method string, args ...any) (string, error) {
	t.Helper()
	out, err := s.Methods()[method].Now(workbench.NewCall(nil, 1, method, workbench.Params(args...)))
	if err != nil {
		return "", err
	}
	raw, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw), nil
}

func TestClipboard(t *testing.T) {
	s := &Service{}
	for _, text := range []string{"", "a\nü", ""} {
		if _, err := ask(t, s, "MainThreadClipboard.$writeText", text); err != nil {
			t.Fatal(err)
		}
		want, _ := json.Marshal(text)
		if got, err := ask(t, s, "MainThreadClipboard.$readText"); got != string(want) || err != nil {
			t.Errorf("%s, %v", got, err)
		}
	}
	if _, err := ask(t, s, "MainThreadClipboard.$writeText", strings.Repeat("x", maxClipboard+1)); err == nil {
		t.Error("no limit")
	}
	if _, err := ask(t, s, "MainThreadClipboard.$writeText", 7); err == nil {
		t.Error("a number was taken for text")
	}
}

func TestURIsStay(t *testing.T) {
	uri := workbench.URI{Scheme: "http", Authority: "127.0.0.1:80", Path: "/x"}
	want, _ := json.Marshal(uri)
	for _, method := range []string{"MainThreadWindow.$asExternalUri", "MainThreadExtensionService.$asBrowserUri"} {
		if got, err := ask(t, &Service{}, method, uri, map[string]bool{}); got != string(want) || err != nil {
			t.Errorf("%s: %s, %v", method, got, err)
		}
	}
}

func TestPanelNeedsAHandle(t *testing.T) {
	for _, handle := range []any{true, nil, []int{1}} {
		if _, err := ask(t, &Service{}, "MainThreadWebviewPanels.$createWebviewPanel", map[string]string{}, handle); err == nil {
			t.Errorf("%v was taken for a handle", handle)
		}
	}
}
