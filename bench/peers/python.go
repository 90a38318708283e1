package peers

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/hostsup/hostsup/codec/msgpackrpc"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/supervisor"
)

// The hosts in Python.
const (
	PythonSDK    = "hostsup-host" // sdk/python
	PythonPynvim = "pynvim"       // its MessagePack-RPC session on the standard streams
)

// pythonPrograms are the hosts. Each answers echo with its parameter.
var pythonPrograms = map[string]string{
	PythonSDK: `from hostsup_host import Host
host = Host("echo")
@host.handle("echo")
async def echo(params, ctx):
    return params
host.run()
`,
	PythonPynvim: `from pynvim.msgpack_rpc import stdio_session
session = stdio_session()
session.run(lambda name, args: args[0], lambda name, args: None)
`,
}

// Python returns Debian's own interpreter, which has msgpack, and pynvim where those are
// installed. The error is [ErrMissing] where one of the modules is not there.
func Python(modules ...string) (string, error) {
	const python = "/usr/bin/python3"
	for _, m := range modules {
		if err := exec.Command(python, "-c", "import "+m).Run(); err != nil {
			return "", fmt.Errorf("%s of %s: %w", m, python, ErrMissing)
		}
	}
	return python, nil
}

// PythonHost starts a host in Python under a supervisor. root is the folder of this module.
func PythonHost(way, root string) (Conn, error) {
	module := "msgpack"
	if way == PythonPynvim {
		module = "pynvim"
	}
	python, err := Python(module)
	if err != nil {
		return nil, err
	}
	h := supervisor.HostSpec{Name: "echo", Command: []string{python, "-c", pythonPrograms[way]}, Protocol: native.New()}
	h.Env = map[string]string{"PYTHONPATH": filepath.Join(root, "sdk/python/src"), "PATH": os.Getenv("PATH")}
	if way == PythonPynvim {
		h.Protocol = msgpackrpc.New(msgpackrpc.Options{})
	}
	h.Requests.Timeout = time.Hour
	s, host, err := supervise(supervisor.Spec{Groups: []supervisor.GroupSpec{{Name: "echo", Hosts: []supervisor.HostSpec{h}}}})
	if err != nil {
		return nil, err
	}
	c := &hostsupConn{s: s, h: host}
	if way == PythonPynvim {
		return &pynvimConn{c}, nil
	}
	return c, nil
}

// pynvimConn calls a host whose parameters are a list.
type pynvimConn struct{ *hostsupConn }

func (c *pynvimConn) Echo(ctx context.Context, payload []byte) ([]byte, error) {
	var out []byte
	err := c.h.Call(ctx, "echo", [][]byte{payload}, &out)
	return out, err
}

// PythonStart returns how long a host takes from its start until it has answered the
// handshake and a ping, and how long a program of the same interpreter that only imports
// asyncio takes to its end. The host is started without a supervisor, whose own start
// would count.
func PythonStart(root string) (host, empty time.Duration, err error) {
	python, err := Python("msgpack")
	if err != nil {
		return 0, 0, err
	}
	ours, theirs, err := socketPair()
	if err != nil {
		return 0, 0, err
	}
	defer ours.Close()
	cmd := exec.Command(python, "-c", pythonPrograms[PythonSDK])
	cmd.Env = []string{"PYTHONPATH=" + filepath.Join(root, "sdk/python/src"), "HOSTSUP_HOST_FD=3"}
	cmd.ExtraFiles, cmd.Stderr = []*os.File{theirs}, os.Stderr
	start := time.Now()
	if err := errors.Join(cmd.Start(), theirs.Close()); err != nil {
		return 0, 0, err
	}
	err = openHost(ours)
	host = time.Since(start)
	if err := errors.Join(err, ours.Close()); err != nil {
		return 0, 0, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	var exit *exec.ExitError // its supervisor has gone without a goodbye
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return 0, 0, err
	}
	program := exec.Command(python, "-c", "import asyncio")
	program.Env = cmd.Env
	start = time.Now()
	err = program.Run()
	return host, time.Since(start), err
}

// socketPair returns two connected sockets.
func socketPair() (ours, theirs *os.File, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs"), nil
}

// openHost opens a host and returns when it has answered a ping.
func openHost(conn *os.File) error {
	var out []byte
	for _, m := range [][]any{
		{0, 1, "initialize", map[string]any{"protocol": 1, "capabilities": []string{"ack", "ping"}}},
		{2, "initialized", nil},
		{0, 2, "$/ping", nil},
	} {
		body, err := msgpack.Marshal(m)
		if err != nil {
			return err
		}
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(body))), body...)
	}
	if _, err := conn.Write(out); err != nil {
		return err
	}
	for range 2 { // two answers
		var head [4]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			return err
		}
		if _, err := io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(head[:]))); err != nil {
			return err
		}
	}
	return nil
}
