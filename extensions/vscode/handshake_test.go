package vscode

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
)

// anExtension is a folder with a manifest.
func anExtension(t testing.TB, manifest string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(manifest), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

var hello = codec.Hello{Supervisor: "hostsup", Version: "9", Host: "code", Life: 3, PID: 77}

func notes(method string) *codec.Message {
	return &codec.Message{Kind: codec.Notification, Method: method}
}

func answers1(err *codec.Error) *codec.Message {
	return &codec.Message{Kind: codec.Response, ID: openingID, Err: err}
}

func TestHandshake(t *testing.T) {
	dir := anExtension(t, `{"publisher":"Pub","name":"ext","version":"1.0.0","main":"./m.js","activationEvents":["*","onCommand:a"],
		"contributes":{"commands":[{"command":"a"},{"command":"b"},{}]}}`)
	var root string
	s := opened(t, codec.Limits{}, func(o *Options) {
		root = o.Root
		o.Folders = []string{dir, anExtension(t, `{"publisher":"p","name":"one","contributes":{"commands":{"command":"c"}}}`)}
		o.Settings = map[string]any{"editor.tabSize": 4, "editor.x.y": true, "top": "z"}
		o.Workspace = &Workspace{Name: "w", Folders: []string{"/src/a"}}
	})
	h := hello
	h.Init = map[string]any{"logLevel": 1, "extra": []int{1}}
	hs := s.Handshake(h)
	if out, done := hs.Start(); len(out) > 0 || done {
		t.Fatal(out, done)
	}
	out, done, err := hs.Handle(notes(methodReady))
	if err != nil || done || len(out) != 1 || out[0].Method != methodInit {
		t.Fatal(out, done, err)
	}
	var data struct {
		Version, Commit, Quality, Date string
		ParentPid, LogLevel            int
		Extra                          []int
		Environment                    struct {
			AppRoot, GlobalStorageHome struct{ Path, Scheme, FsPath string }
		}
		Workspace  struct{ ID, Name string }
		Extensions struct {
			VersionID        int
			AllExtensions    []map[string]any
			ActivationEvents map[string][]string
			MyExtensions     []map[string]string
		}
	}
	if err := json.Unmarshal(out[0].Params, &data); err != nil {
		t.Fatal(err)
	}
	if data.Version != "1.2.3" || data.Commit != "c0ffee" || data.ParentPid != 77 || data.LogLevel != 1 || len(data.Extra) != 1 ||
		data.Environment.AppRoot.Path != root || data.Environment.GlobalStorageHome.FsPath != "/state/code/globalStorage" || data.Workspace.Name != "w" {
		t.Errorf("%+v", data)
	}
	if got := fmt.Sprint(data.Extensions.ActivationEvents, data.Extensions.MyExtensions); got != "map[Pub.ext:[* onCommand:a onCommand:b] p.one:[onCommand:c]] [map[_lower:pub.ext value:Pub.ext] map[_lower:p.one value:p.one]]" {
		t.Error(got)
	}
	if e := data.Extensions.AllExtensions[0]; e["main"] != "./m.js" || e["id"] != "Pub.ext" || fmt.Sprint(e["extensionLocation"]) != fmt.Sprintf("map[$mid:1 fsPath:%s path:%s scheme:file]", dir, dir) {
		t.Errorf("%v", e)
	}

	out, done, err = hs.Handle(notes(methodInitialized))
	if err != nil || done || len(out) != 1 || out[0].Method != methodConfiguration || out[0].ID != openingID {
		t.Fatal(out, done, err)
	}
	if !strings.Contains(string(out[0].Params), `"userLocal":{"contents":{"editor":{"tabSize":4,"x":{"y":true}},"top":"z"},"keys":["editor.tabSize","editor.x.y","top"],"overrides":[]}`) {
		t.Errorf("%s", out[0].Params)
	}
	told := string(out[0].Params)
	// What the host asks meanwhile is none of this.
	for _, m := range []*codec.Message{{Kind: codec.Request, ID: 1, Method: "MainThreadX.$y"}, {Kind: codec.Cancel, ID: 1}} {
		if _, _, err := hs.Handle(m); !errors.Is(err, codec.ErrUnrelated) {
			t.Error(err)
		}
	}
	if out, done, err := hs.Handle(&codec.Message{Kind: codec.Ack, ID: openingID}); out != nil || done || err != nil {
		t.Error(out, done, err)
	}
	out, done, err = hs.Handle(answers1(nil))
	if err != nil || done || len(out) != 1 || out[0].Method != methodWorkspace || !strings.HasSuffix(string(out[0].Params), `,true]`) || !strings.Contains(string(out[0].Params), `"path":"/src/a"`) {
		t.Fatal(out, done, err)
	}
	out, done, err = hs.Handle(answers1(nil))
	if err != nil || !done || out != nil {
		t.Fatal(out, done, err)
	}
	if err := s.NewReader(strings.NewReader(framed("\x02"))).Next(new(codec.Message)); !errors.Is(err, codec.ErrShape) {
		t.Errorf("a host that runs is ready again: %v", err)
	}
	if request, result := s.Features().Opened(); string(request) != told || result != nil {
		t.Errorf("%s, %s", request, result)
	}
	if p := hs.Peer(); p.Name != "vscode" || p.Version != "1.2.3" || !p.Caps.Has(codec.CapAck|codec.CapCancel|codec.CapPing|codec.CapAbandon) || p.Caps.Has(codec.CapStream) {
		t.Errorf("%+v", p)
	}
	if _, done, err := hs.Handle(notes("more")); !done || err != nil {
		t.Error(done, err)
	}
	if ask, last := s.Goodbye(); ask.Method != "terminate" || last != nil || s.Ping() != "ExtHostExtensionService.$test_latency" {
		t.Error(ask, last)
	}
}

func TestHandshakeFails(t *testing.T) {
	refusal := &codec.Error{Name: "E", Message: "no"}
	for name, tc := range map[string]struct {
		say  []*codec.Message
		want error
		text string
	}{
		"initialized first": {[]*codec.Message{notes(methodInitialized)}, codec.ErrEarly, "notification initialized while it was to say that it is ready"},
		"ready twice":       {[]*codec.Message{notes(methodReady), notes(methodReady)}, codec.ErrEarly, "while it was to take its init data"},
		"asks at once":      {[]*codec.Message{{Kind: codec.Request, ID: 1, Method: "A.$b"}}, codec.ErrEarly, "request A.$b while"},
		"answers nobody":    {[]*codec.Message{notes(methodReady), notes(methodInitialized), {Kind: codec.Response, ID: 9}}, codec.ErrEarly, "response while it was to take its configuration"},
		"no configuration":  {[]*codec.Message{notes(methodReady), notes(methodInitialized), answers1(refusal)}, refusal, methodConfiguration + ": E: no"},
		"no workspace":      {[]*codec.Message{notes(methodReady), notes(methodInitialized), answers1(nil), answers1(refusal)}, refusal, methodWorkspace + ": E: no"},
	} {
		s := opened(t, codec.Limits{})
		hs := s.Handshake(hello)
		var err error
		for i, m := range tc.say {
			if _, _, err = hs.Handle(m); err != nil && i < len(tc.say)-1 {
				t.Fatal(name, err)
			}
		}
		if !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBadOptions(t *testing.T) {
	twice := anExtension(t, `{"publisher":"p","name":"n"}`)
	for name, tc := range map[string]struct {
		change func(*Options)
		init   any
		want   string
	}{
		"no folder":      {func(o *Options) { o.Folders = []string{"/nowhere"} }, nil, "/nowhere/package.json"},
		"no JSON":        {func(o *Options) { o.Folders = []string{anExtension(t, "{")} }, nil, "package.json: unexpected end"},
		"no publisher":   {func(o *Options) { o.Folders = []string{anExtension(t, `{"name":"n"}`)} }, nil, "a publisher and a name expected"},
		"twice":          {func(o *Options) { o.Folders = []string{twice, twice} }, nil, "there is another extension p.n"},
		"no extensions":  {func(o *Options) { o.Extensions = func(string) (any, error) { return nil, errors.New("none") } }, nil, `extensions of host "code": none`},
		"init no object": {func(*Options) {}, []int{1}, "init: an object expected"},
		"init no value":  {func(*Options) {}, func() {}, "init: encode"},
	} {
		s := opened(t, codec.Limits{}, tc.change)
		h := hello
		h.Init = tc.init
		if _, _, err := s.Handshake(h).Handle(notes(methodReady)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := New(Options{Root: t.TempDir()}).Open(codec.Limits{})
	if _, _, err := s.Handshake(hello).Handle(notes(methodReady)); !errors.Is(err, ErrBuild) {
		t.Error(err)
	}
	m := codec.Message{Kind: codec.Request, ID: 7, Method: "ExtHostCommands.$x", Params: codec.Raw("[]")}
	if _, err := s.Append(nil, &m); !errors.Is(err, ErrBuild) {
		t.Error(err)
	}
	if err := s.NewReader(strings.NewReader(framed(head(1, 1) + "\x01\x02$x" + long("[]")))).Next(&m); !errors.Is(err, ErrBuild) {
		t.Error(err)
	}
	if _, err := New(Options{Root: t.TempDir()}).Rendezvous(in(t.TempDir())); !errors.Is(err, ErrBuild) {
		t.Error(err)
	}
}

// The value of the function is what the host is told.
func TestExtensionsOfAFunction(t *testing.T) {
	s := opened(t, codec.Limits{}, func(o *Options) {
		o.Extensions = func(host string) (any, error) { return map[string]string{"of": host}, nil }
	})
	out, _, err := s.Handshake(hello).Handle(notes(methodReady))
	if err != nil || !strings.Contains(string(out[0].Params), `"extensions":{"of":"code"}`) {
		t.Errorf("%v, %v", out, err)
	}
}

func TestExplain(t *testing.T) {
	for _, tc := range []struct {
		end   codec.End
		want  string
		final bool
	}{
		{codec.End{Code: 55}, "it is another build than the commit in its init data names", true},
		{codec.End{Code: 55, Ready: true}, "", false},
		{codec.End{Code: 81, Ready: true}, "the extension host met an unexpected error", false},
		{codec.End{Code: 13}, "node ended while something was awaited that could not come any more", false},
		{codec.End{Code: 99}, "", false},
		{codec.End{Code: 3}, "node cannot parse itself", false},
		{codec.End{Code: 3, Ready: true}, "something in it called process.exit or process.reallyExit with 3", false},
		{codec.End{Code: 12, Ready: true}, "something in it called process.exit or process.reallyExit with 12", false},
		{codec.End{Code: 9}, "node was given an invalid argument, or something called process.reallyExit(9)", false},
		{codec.End{Code: 7, Ready: true}, "node's handler of uncaught errors failed", false},
		{codec.End{Ready: true}, "nobody had told it to: it took its connection for closed, or its supervisor for gone, or something called process.reallyExit", false},
		{codec.End{}, "it could not come to its socket, or was told nothing there", false},
		{codec.End{Code: 1}, "an error that nothing caught, before it was ready", false},
		{codec.End{Code: 1, Ready: true}, "", false},
		{codec.End{Signal: 9}, "", false},
		{codec.End{Signal: 6}, "something in it called abort", false},
		{codec.End{Signal: 6, Output: []string{"x", "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory", "y"}}, "JavaScript heap out of memory", false},
		{codec.End{Signal: 6, Output: []string{"FATAL ERROR: v8::ToLocalChecked Empty MaybeLocal"}}, "node aborted: FATAL ERROR: v8::ToLocalChecked Empty MaybeLocal", false},
		{codec.End{Signal: 11}, "native code crashed", false},
	} {
		if got, final := New(Options{}).Explain(tc.end); got != tc.want || final != tc.final {
			t.Errorf("%+v: %q, %v", tc.end, got, final)
		}
	}
}

// in returns what makes the folder of a rendezvous, which is there.
func in(dir string) func() (string, error) { return func() (string, error) { return dir, nil } }
