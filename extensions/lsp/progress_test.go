package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/status"
)

// shows makes calls of a host that shows progress.
func (s *served) shows(t *testing.T, method string, args ...any) {
	t.Helper()
	host := actors.Detached(&actors.World{}, actors.HostSpec{Spec: hostspec.Spec{Name: "code"}})
	if _, err := s.status.Methods()["MainThreadProgress."+method].Now(workbench.NewCall(host, 1, method, workbench.Params(args...))); err != nil {
		t.Fatal(err)
	}
}

// next returns the next message to the client: its method or its id, and what it has. A request is answered, by
// an error if refuse is set.
func (s *served) nextMessage(t *testing.T, refuse bool) string {
	t.Helper()
	m, ok := <-s.got
	if !ok {
		t.Fatal("the session has ended")
	}
	switch {
	case m.Kind == codec.Response:
		return fmt.Sprintf("answer %d", m.ID)
	case m.Kind == codec.Request && refuse:
		s.send(t, codec.Message{Kind: codec.Response, ID: m.ID, Err: &codec.Error{Code: 1, Message: "no room"}}, nil)
	case m.Kind == codec.Request:
		s.send(t, codec.Message{Kind: codec.Response, ID: m.ID, Result: codec.Raw("null")}, nil)
	}
	return m.Method + " " + string(m.Params)
}

func (s *served) expects(t *testing.T, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := s.nextMessage(t, false); got != w {
			t.Fatalf("%s, want %s", got, w)
		}
	}
}

func progressOf(token, value string) string {
	return `$/progress {"token":` + token + `,"value":` + value + `}`
}

// begins initializes a session whose client shows progress or does not. The host starts meanwhile.
func (s *served) begins(t *testing.T, shows bool) {
	t.Helper()
	s.next++
	s.send(t, codec.Message{Kind: codec.Request, ID: s.next, Method: "initialize"}, object{
		"workDoneToken": 7, "capabilities": object{"window": object{"workDoneProgress": shows}},
	})
	s.expects(t, progressOf("7", `{"kind":"begin","title":"Starting the extension host code","cancellable":false}`), progressOf("7", `{"kind":"end"}`), "answer 1")
	s.running.Store(true)
	s.tells(t, "initialized", object{})
}

func TestProgressIsShownToTheClient(t *testing.T) {
	s := server(t, nil)
	s.begins(t, true)
	s.status.SetStarting("code", true)
	const starting = `"hostsup.code/start-1"`
	s.expects(t, `window/workDoneProgress/create {"token":`+starting+`}`,
		progressOf(starting, `{"kind":"begin","title":"Starting the extension host code","cancellable":false}`))
	s.status.SetStarting("code", false)
	s.expects(t, progressOf(starting, `{"kind":"end"}`))

	s.shows(t, "$startProgress", 1, object{"location": 15, "title": "Indexing", "cancellable": true}, "acme.index")
	token := `"hostsup.code/` + s.status.Running("")[0].ID + `"`
	s.expects(t, `window/workDoneProgress/create {"token":`+token+`}`, progressOf(token, `{"kind":"begin","title":"Indexing","cancellable":true}`))
	s.shows(t, "$progressReport", 1, object{"message": "src", "increment": 40.5})
	s.expects(t, progressOf(token, `{"kind":"report","message":"src","percentage":40}`))
	s.tells(t, "window/workDoneProgress/cancel", object{"token": "other"})
	s.tells(t, "window/workDoneProgress/cancel", object{"token": strings.Trim(token, `"`)})
	s.expects(t, progressOf(token, `{"kind":"report","message":"src","percentage":40}`))
	if !s.status.Running("")[0].Canceled {
		t.Error("it is not canceled")
	}
	s.shows(t, "$progressEnd", 1)
	s.expects(t, progressOf(token, `{"kind":"end"}`))

	// One that cannot be canceled goes on, which the log of the client says. One without a title has another text.
	s.shows(t, "$startProgress", 2, object{"location": 10}, "acme.index")
	token = `"hostsup.code/` + s.status.Running("")[0].ID + `"`
	s.expects(t, `window/workDoneProgress/create {"token":`+token+`}`, progressOf(token, `{"kind":"begin","title":"acme.index","cancellable":false}`))
	s.tells(t, "window/workDoneProgress/cancel", object{"token": strings.Trim(token, `"`)})
	if got := s.nextMessage(t, false); !strings.HasPrefix(got, "window/logMessage ") || !strings.Contains(got, "cannot be canceled") {
		t.Error(got)
	}
	s.shows(t, "$progressEnd", 2)
	s.expects(t, progressOf(token, `{"kind":"end"}`))

	// A client that refuses one gets nothing of it, and is asked about the next one.
	s.shows(t, "$startProgress", 3, object{"location": 10, "title": "Refused"}, "acme.index")
	if got := s.nextMessage(t, true); !strings.HasPrefix(got, "window/workDoneProgress/create ") {
		t.Error(got)
	}
	s.shows(t, "$progressReport", 3, object{"message": "src"})
	s.shows(t, "$progressEnd", 3)
	s.shows(t, "$startProgress", 4, object{"location": 10, "title": "Next"}, "acme.index")
	if got := s.nextMessage(t, false); !strings.HasPrefix(got, "window/workDoneProgress/create ") {
		t.Error(got)
	}
	if got := s.nextMessage(t, false); !strings.Contains(got, `"title":"Next"`) {
		t.Error(got)
	}
}

// What belongs to a command is shown with the token of its request, and only so. A client without
// window.workDoneProgress gets nothing else.
func TestProgressOfACommand(t *testing.T) {
	for _, shows := range []bool{true, false} {
		s := server(t, func(context.Context, string, []json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage("1"), nil
		})
		s.report = func(ctx context.Context, report func(status.Update)) {
			following, stop := context.WithCancel(ctx)
			s.shows(t, "$startProgress", 1, object{"location": 15, "title": "Building", "cancellable": true}, "acme.build")
			s.status.Follow(following, 0, func(u status.Update) {
				switch report(u); {
				case u.Canceled:
					s.shows(t, "$progressEnd", 1)
				case u.Ended:
					stop()
				}
				if u.Ended {
					stop()
				}
			})
		}
		s.begins(t, shows)
		s.next++
		s.send(t, codec.Message{Kind: codec.Request, ID: s.next, Method: "workspace/executeCommand"}, object{"command": "may.build", "workDoneToken": "mine"})
		s.expects(t, progressOf(`"mine"`, `{"kind":"begin","title":"Building","cancellable":true}`))
		s.shows(t, "$progressReport", 1, object{"message": "half", "increment": 50})
		s.expects(t, progressOf(`"mine"`, `{"kind":"report","message":"half","percentage":50}`))
		s.tells(t, "window/workDoneProgress/cancel", object{"token": "mine"})
		s.expects(t, progressOf(`"mine"`, `{"kind":"report","message":"half","percentage":50}`), progressOf(`"mine"`, `{"kind":"end"}`), "answer 2")
		begins := s.calls(t, "textDocument/odd", object{}) // nothing is left to be told
		if !strings.HasPrefix(begins, "-32601 ") {
			t.Error(begins)
		}
	}
}

// A client that only announces its saves is told so; one that can wait for the changes is not asked twice.
func TestSavesAreAnnounced(t *testing.T) {
	for sync, want := range map[string]bool{`{"willSave":true}`: true, `{"willSave":true,"willSaveWaitUntil":true}`: false, `{}`: false} {
		s := server(t, nil)
		out := s.calls(t, "initialize", object{"capabilities": object{"textDocument": object{"synchronization": json.RawMessage(sync)}}})
		if !strings.Contains(out, fmt.Sprintf(`"willSave":%v`, want)) {
			t.Errorf("%s: %s", sync, out)
		}
	}
}
