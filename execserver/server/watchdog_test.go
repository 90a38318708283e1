//go:build unix

package server

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/execserver/wire"
)

// stuckPeers are what a session can be made to wait for, each by a name. Each
// leaves a process "stuck" behind.
var stuckPeers = map[string]func(t *testing.T, c *client){
	"a raw terminal that is not read": func(_ *testing.T, c *client) {
		p := shell("stuck", "stty raw -echo; echo in; exec sleep 1000")
		p.TTY = true
		c.start(p)
		c.awaitOutput("stuck", wire.PTY, "in")
		floodInput(c)
	},
	"a pipe that is not read": func(_ *testing.T, c *client) {
		p := shell("stuck", "echo in; exec sleep 1000")
		p.PipeStdin = true
		c.start(p)
		c.awaitOutput("stuck", wire.Stdout, "in")
		floodInput(c)
	},
	"a stopped program": func(_ *testing.T, c *client) {
		p := shell("stuck", "echo in; kill -STOP $$")
		p.PipeStdin = true
		c.start(p)
		c.awaitOutput("stuck", wire.Stdout, "in")
		floodInput(c)
	},
	"long polls of a silent process": func(_ *testing.T, c *client) {
		c.start(shell("stuck", "exec sleep 1000"))
		for range 2 * maxParked {
			c.ask(wire.MethodProcessRead, wire.ProcessReadParams{ProcessID: "stuck", WaitMs: ptr(uint64(3600_000))})
		}
	},
	"a web server that does not answer": func(t *testing.T, c *client) {
		c.start(shell("stuck", "exec sleep 1000"))
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		for i := range 100 {
			c.ask(wire.MethodHTTPRequest, wire.HTTPRequestParams{Method: "POST", URL: "http://" + l.Addr().String(), RequestID: fmt.Sprint(i), Body: ptr(make([]byte, 1<<16))})
		}
	},
	"a fifo without another end": func(t *testing.T, c *client) {
		c.start(shell("stuck", "exec sleep 1000"))
		path := filepath.Join(t.TempDir(), "fifo")
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			c.ask(wire.MethodFSReadFile, wire.FSReadFileParams{Path: wire.FileURI(path)})
			c.ask(wire.MethodFSWriteFile, wire.FSWriteFileParams{Path: wire.FileURI(path), DataBase64: "eA=="})
		}
	},
}

// floodInput writes more to the stdin of "stuck" than ever waits for it, in more
// requests than a connection carries out at a time.
func floodInput(c *client) {
	for i := range 400 {
		c.ask(wire.MethodProcessWrite, wire.ProcessWriteParams{ProcessID: "stuck", Chunk: make([]byte, inputMost/300), WriteID: fmt.Sprint(i)})
	}
}

// TestNoRequestWaitsForAnothersPeer has sessions each with peers of one kind that
// do nothing, and clients that do not read. Every other request is answered: in
// these sessions, in one that has nothing to do with them, and the server ends.
func TestNoRequestWaitsForAnothersPeer(t *testing.T) {
	t.Parallel()
	s := startServer(t, Options{Ping: -1})
	good := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	defer good.Close()
	for range 3 { // clients that do not read
		w := dialRaw(t, s.URL())
		for i := range 5 {
			w.send(t, fmt.Sprintf(`{"id":%d,"method":"process/start","params":{"processId":"zero%d","argv":["/bin/cat","/dev/zero"],"cwd":"file:///tmp","env":{},"tty":false}}`, i+2, i))
		}
	}
	half, err := net.Dial("tcp", good.Listener.Addr().String()) // and one that has not said what it wants
	if err != nil {
		t.Fatal(err)
	}
	defer half.Close()
	clients := map[string]*client{}
	for name, stick := range stuckPeers {
		c, _ := extended(t, s)
		clients[name] = c
		stick(t, c)
	}
	fresh, _ := extended(t, s)
	fresh.start(shell("stuck", "exec sleep 1000"))
	clients["nothing"] = fresh
	for name, c := range clients {
		t.Log("beside", name)
		p := shell("beside", "read line; echo $line")
		p.PipeStdin = true
		c.start(p)
		call[wire.ProcessWriteResult](c, wire.MethodProcessWrite, wire.ProcessWriteParams{ProcessID: "beside", Chunk: []byte("hello\n"), WriteID: "w"})
		c.awaitOutput("beside", wire.Stdout, "hello")
		c.awaitClose("beside")
		call[wire.ProcessReadResult](c, wire.MethodProcessRead, wire.ProcessReadParams{ProcessID: "beside", WaitMs: ptr(uint64(3600_000))})
		call[wire.EnvironmentStatus](c, wire.MethodEnvironmentStatus, nil)
		call[wire.ProcessListResult](c, wire.MethodProcessList, nil)
		path := wire.FileURI(filepath.Join(t.TempDir(), "f"))
		call[wire.Empty](c, wire.MethodFSWriteFile, wire.FSWriteFileParams{Path: path, DataBase64: "eA=="})
		call[wire.FSReadFileResult](c, wire.MethodFSReadFile, wire.FSReadFileParams{Path: path})
		if r := call[wire.HTTPResponse](c, wire.MethodHTTPRequest, wire.HTTPRequestParams{Method: "GET", URL: good.URL, RequestID: "good"}); string(r.Body) != "hello" {
			t.Errorf("%s: %+v", name, r)
		}
		// What is stuck can still be asked for, signalled and ended.
		call[wire.ProcessReadResult](c, wire.MethodProcessRead, wire.ProcessReadParams{ProcessID: "stuck"})
		call[wire.Empty](c, wire.MethodProcessSignal, wire.ProcessSignalParams{ProcessID: "stuck", Signal: "interrupt"})
		call[wire.ProcessTerminateResult](c, wire.MethodProcessTerminate, wire.ProcessTerminateParams{ProcessID: "stuck"})
		c.awaitClose("stuck")
	}
	stopServer(t, s)
}
