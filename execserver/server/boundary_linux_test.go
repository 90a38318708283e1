package server

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/execserver/server/files"
	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// strict is the profile with a folder that can be written.
func strict(dir string) *policy.Policy {
	p, _ := policy.Profile("strict")
	p.Write = []string{dir}
	return &p
}

// TestServersSandboxHoldsFiles: every method about files obeys the sandbox of the
// server when a request brings none.
func TestServersSandboxHoldsFiles(t *testing.T) {
	root := tree(t, "w/in", "secret", "w/link->../secret", "w/dir->..")
	c := confining(t, Options{Sandbox: strict(filepath.Join(root, "w"))})
	outside := filepath.Join("/var/tmp", "hostsup-boundary-"+strconv.Itoa(os.Getpid()))
	t.Cleanup(func() { _ = os.Remove(outside) })
	for _, tt := range []struct{ method, params string }{
		{"fs/readFile", `{"path":"file:///etc/shadow"}`},
		{"fs/readFile", `{"path":"file:///ROOT/secret"}`},
		{"fs/readFile", `{"path":"file:///ROOT/w/link"}`},
		{"fs/readFile", `{"path":"file:///ROOT/secret","followSymlinks":false}`},
		{"fs/readFile", `{"path":"file:///proc/1/environ"}`},
		{"fs/readFile", `{"path":"file:///ROOT/secret","sandbox":{"permissions":{"type":"disabled"},"windowsSandboxLevel":"disabled"}}`},
		{"fs/readFile", `{"path":"file:///ROOT/secret","sandbox":` + object("root read") + `}`},
		{"fs/writeFile", `{"path":"file:///ROOT/secret","dataBase64":"eA==","sandbox":` + object("root write") + `}`},
		{"fs/writeFile", `{"path":"file://` + outside + `","dataBase64":"eA=="}`},
		{"fs/writeFile", `{"path":"file:///ROOT/secret","dataBase64":"eA=="}`},
		{"fs/writeFile", `{"path":"file:///ROOT/w/link","dataBase64":"eA=="}`},
		{"fs/writeFile", `{"path":"file:///tmp/nobody-would-see-it","dataBase64":"eA=="}`},
		{"fs/createDirectory", `{"path":"file://` + outside + `"}`},
		{"fs/getMetadata", `{"path":"file:///ROOT/secret"}`},
		{"fs/getMetadata", `{"path":"file:///etc/shadow","followSymlinks":false}`},
		{"fs/canonicalize", `{"path":"file:///ROOT/w/link"}`},
		{"fs/readDirectory", `{"path":"file:///root"}`},
		{"fs/walk", `{"path":"file:///home","options":{"maxDepth":1,"maxDirectories":1,"maxEntries":1,"followDirectorySymlinks":false,"pruneHiddenDirectories":false}}`},
		{"fs/remove", `{"path":"file:///ROOT/secret","force":false}`},
		{"fs/copy", `{"sourcePath":"file:///ROOT/secret","destinationPath":"file:///ROOT/w/copied","recursive":false}`},
		{"fs/copy", `{"sourcePath":"file:///ROOT/w/in","destinationPath":"file://` + outside + `","recursive":false}`},
		{"fs/open", `{"handleId":"h","path":"file:///ROOT/secret"}`},
		{"fs/open", `{"handleId":"h","path":"file://` + outside + `","mode":"replace"}`},
		{"fs/readBlock", `{"handleId":"h","offset":0,"len":9}`},
	} {
		if got := c.text(root, tt.method, tt.params); !strings.HasPrefix(got, "-") {
			t.Errorf("%s %s was answered with %.200s", tt.method, tt.params, got)
		}
	}
	if _, err := os.Lstat(outside); err == nil {
		t.Error("something was made outside")
	}
	if text, err := os.ReadFile(filepath.Join(root, "secret")); err != nil || string(text) != "secret" {
		t.Errorf("%q %v", text, err)
	}
	// What is granted works.
	for _, tt := range []struct{ method, params, want string }{
		{"fs/readFile", `{"path":"file:///ROOT/w/in"}`, `{"dataBase64":"aW4="}`},
		{"fs/writeFile", `{"path":"file:///ROOT/w/out","dataBase64":"eA=="}`, `{}`},
		{"fs/open", `{"handleId":"h","path":"file:///ROOT/w/out"}`, `{"handleId":"h"}`},
		{"fs/open", `{"handleId":"h","path":"file:///ROOT/w/in"}`, "-32600 file handle `h` already exists"},
		{"fs/readBlock", `{"handleId":"h","offset":0,"len":9}`, `{"chunk":"eA==","eof":true}`},
		{"fs/close", `{"handleId":"h"}`, `{}`},
		{"fs/close", `{"handleId":"h"}`, `{}`},
		{"fs/readBlock", `{"handleId":"h","offset":0,"len":9}`, "-32004 unknown file handle `h`"},
		{"fs/remove", `{"path":"file:///ROOT/w/out"}`, `{}`},
		{"fs/watchMissing", `{"watchId":1,"missing":["file:///ROOT/nothing"],"present":null}`, `{"watching":false}`},
	} {
		if got := c.text(root, tt.method, tt.params); got != tt.want {
			t.Errorf("%s %s: %s", tt.method, tt.params, got)
		}
	}
}

// TestOneSandboxOneAnswer: a process and a request about files with the same
// sandbox object may do the same.
func TestOneSandboxOneAnswer(t *testing.T) {
	c := confining(t, Options{})
	n := 0
	for _, tt := range []struct{ rules, path string }{
		{ws, "/w/.git/hooks"}, {ws, "/w/.codex"}, {ws, "/w/.agents"}, {ws, "/w/.aws"}, {ws, "/w/plain"}, {ws, "/outside"}, {ws, "/w/deep/.git"},
		{ws + ", project_roots/.git write", "/w/.git/hooks"}, {ws + ", project_roots/.git write", "/w/.codex"},
		{"root read, /w read, /w write", "/w/plain"}, {"root read, /w write, /w read", "/w/plain"}, {"root read, /w write, /w deny", "/w/plain"},
		{ws + ", /w/d read", "/w/d"}, {ws + ", /w/d read, /w/d/e write", "/w/d/e"}, {ws + ", /w/later read", "/w/later"}, {ws + ", /w/later deny", "/w/later"},
		{"/w write", "/w/plain"}, {"/w write", "/w/.git/hooks"}, {"root write", "/w/.git/hooks"}, {"root read, minimal write", "/w/plain"},
		{ws + ", /w/d deny, /w/d/e write", "/w/d/e"},
	} {
		root := tree(t, "w/.git/hooks/", "w/plain/", "w/d/e/", "w/deep/.git/", "outside/")
		if err := os.Chmod(filepath.Join(root, "w"), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(root, "outside"), 0o777); err != nil {
			t.Fatal(err)
		}
		n++
		id := fmt.Sprint(n)
		rules := strings.ReplaceAll(object(tt.rules), "/ROOT", root)
		if !strings.Contains(tt.rules, "minimal") && !strings.Contains(tt.rules, "root") {
			rules = strings.ReplaceAll(object(tt.rules+", minimal read"), "/ROOT", root)
		}
		p := sandboxed(t, shell(id, "echo x >'"+root+tt.path+"/by-process' || echo x >'"+root+tt.path+"' && echo written"), rules)
		p.Cwd = wire.FileURI(filepath.Join(root, "w"))
		var process bool
		if g := c.answer(c.ask(wire.MethodProcessStart, p)); g.Kind == wire.KindError {
			if !strings.Contains(tt.rules, "/w deny") { // it has no folder to begin in
				t.Errorf("%+v: %v", tt, g.Err)
			}
		} else {
			c.awaitClose(id)
			process = strings.Contains(c.output(id)[wire.Stdout], "written")
		}
		write := func(path string) string {
			return c.text(root, wire.MethodFSWriteFile, `{"path":"file:///ROOT`+path+`","dataBase64":"eA==","sandbox":`+rules+`}`)
		}
		within, at := write(tt.path+"/by-files"), write(tt.path)
		if (within == "{}" || at == "{}") != process {
			t.Errorf("%+v: a process may write: %v, a request may: %s, %s", tt, process, within, at)
		}
	}
}

// TestServersSandboxHoldsHTTP: HTTP requests reach what the server's processes
// reach.
func TestServersSandboxHoldsHTTP(t *testing.T) {
	var asked atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
		}
	}))
	defer web.Close()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer other.Close()
	allowed := web.Listener.Addr().String()
	_, port, _ := net.SplitHostPort(allowed)
	for _, tt := range []struct {
		name    string
		network policy.Network
		allow   []string
		url     string
		reaches int32
		refused bool
	}{
		{"none", policy.NetworkNone, nil, web.URL, 0, true},
		{"default", "", nil, web.URL, 0, true},
		{"host", policy.NetworkHost, nil, web.URL, 1, false},
		{"allowed", policy.NetworkAllow, []string{allowed}, web.URL, 1, false},
		{"another port", policy.NetworkAllow, []string{allowed}, other.URL, 0, true},
		{"redirected", policy.NetworkAllow, []string{allowed}, web.URL + "/?to=" + other.URL, 1, true},
		{"a name for loopback", policy.NetworkAllow, []string{"*:" + port}, "http://localhost:" + port, 0, true},
		{"metadata", policy.NetworkAllow, []string{"*:*"}, "http://169.254.169.254/latest", 0, true},
		{"numbers", policy.NetworkAllow, []string{"*:*"}, "http://2130706433:" + port, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := dial(t, startServer(t, Options{Sandbox: &policy.Policy{Network: tt.network, Allow: tt.allow}}).URL())
			c.initialize(wire.InitializeParams{})
			before := asked.Load()
			g := c.answer(c.ask(wire.MethodHTTPRequest, wire.HTTPRequestParams{Method: "GET", URL: tt.url, RequestID: "r"}))
			if refused := g.Kind == wire.KindError; refused != tt.refused {
				t.Errorf("%s", g.text)
			} else if refused && !strings.Contains(g.Err.Message, "sandbox of this server") {
				t.Error(g.Err)
			}
			if n := asked.Load() - before; n != tt.reaches {
				t.Errorf("%d requests arrived", n)
			}
		})
	}
}

// TestHeadersNameOnlyWhatProcessesSee: a header of an HTTP request cannot be used
// to read another environment than that of the session.
func TestHeadersNameOnlyWhatProcessesSee(t *testing.T) {
	t.Setenv("HOSTSUP_SOCKET", "/run/hostsup.sock")
	t.Setenv("SUPERVISORS_TOKEN", "secret")
	var got atomic.Value
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got.Store(r.Header.Get("X-Value")) }))
	defer web.Close()
	ask := func(opt Options, name string) (string, *wire.Error) {
		got.Store("")
		c := dial(t, startServer(t, opt).URL())
		c.initialize(wire.InitializeParams{})
		g := c.answer(c.ask(wire.MethodHTTPRequest, json.RawMessage(`{"method":"GET","url":"`+web.URL+`","requestId":"r","headers":[{"name":"x-value","value":"","valueEnvVar":"`+name+`"}]}`)))
		return got.Load().(string), g.Err
	}
	for _, tt := range []struct {
		name string
		env  []string
		want string
	}{
		{"SUPERVISORS_TOKEN", []string{"PATH=/bin"}, ""},
		{"SUPERVISORS_TOKEN", []string{}, ""},
		{"HOSTSUP_SOCKET", []string{"HOSTSUP_SOCKET=/x"}, ""},
		{"HOSTSUP_SOCKET", nil, ""},
		{"OWN", []string{"OWN=first", "OWN=value"}, "value"},
		{"SUPERVISORS_TOKEN", nil, "secret"}, // all of it is inherited
	} {
		value, bad := ask(Options{Env: tt.env}, tt.name)
		if value != tt.want || (bad == nil) != (tt.want != "") {
			t.Errorf("%+v: %q %v", tt, value, bad)
		}
	}
}

// TestManagedNetworkIsRefused: what this server cannot do is not passed over.
func TestManagedNetworkIsRefused(t *testing.T) {
	c := dial(t, startServer(t, Options{}).URL())
	c.initialize(wire.InitializeParams{})
	ran := filepath.Join(t.TempDir(), "ran")
	for i, change := range []func(*wire.ProcessStartParams){
		func(p *wire.ProcessStartParams) { p.EnforceManagedNetwork = true },
		func(p *wire.ProcessStartParams) { p.ManagedNetwork = &wire.ManagedNetwork{LoopbackPorts: []uint16{1}} },
		func(p *wire.ProcessStartParams) { p.ManagedNetwork = &wire.ManagedNetwork{} },
		func(p *wire.ProcessStartParams) { p.NetworkProxy = json.RawMessage(`{"proxy":{}}`) },
	} {
		p := shell(fmt.Sprint(i), ": >"+ran)
		change(&p)
		if bad := c.refused(wire.MethodProcessStart, p); bad.Code != wire.CodeInvalidRequest {
			t.Error(bad)
		}
	}
	if _, err := os.Lstat(ran); err == nil {
		t.Error("it ran")
	}
}

// TestWorkersEnd: what serves confined files ends by itself, is replaced when it
// was killed, and holds what it has open.
func TestWorkersEnd(t *testing.T) {
	root := tree(t, "w/f")
	c := confining(t, Options{})
	read := func() string {
		return c.text(root, "fs/readFile", `{"path":"file:///ROOT/w/f","sandbox":`+object("/w read")+`}`)
	}
	const content = `{"dataBase64":"Zg=="}`
	if got := read(); got != content {
		t.Fatal(got)
	}
	workers := func() (pids []int) {
		all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, path := range all {
			text, _ := os.ReadFile(path)
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if strings.TrimRight(string(text), "\x00") == files.WorkerName && descends(pid, os.Getpid()) {
				pids = append(pids, pid)
			}
		}
		return pids
	}
	if !poll.Within(time.Minute, func() bool { return len(workers()) == 0 }) {
		t.Fatal("a worker without work stays")
	}
	if got := c.text(root, "fs/open", `{"handleId":"h","path":"file:///ROOT/w/f","sandbox":`+object("/w read")+`}`); got != `{"handleId":"h"}` {
		t.Fatal(got)
	}
	pids := workers()
	if len(pids) != 1 {
		t.Fatalf("%v", pids)
	}
	if got := c.text(root, "fs/readBlock", `{"handleId":"h","offset":0,"len":9}`); got != `{"chunk":"Zg==","eof":true}` {
		t.Error(got)
	}
	if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if !poll.Within(time.Minute, func() bool {
		return strings.HasPrefix(c.text(root, "fs/readBlock", `{"handleId":"h","offset":0,"len":9}`), "-32004 ")
	}) {
		t.Error("a file is open in a process that has ended")
	}
	if got := read(); got != content {
		t.Error(got)
	}
	c.stop()
	if !poll.Within(time.Minute, func() bool { return len(workers()) == 0 }) {
		t.Error("a worker outlives its connection")
	}
}

// descends reports whether pid is a descendant of top.
func descends(pid, top int) bool {
	for pid > 1 {
		if pid == top {
			return true
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return false
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 2 {
			return false
		}
		pid, _ = strconv.Atoi(fields[1])
	}
	return false
}
