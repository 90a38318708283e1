package peers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

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

// PythonStart returns how long a host takes from its start until it is ready, and how
// long a program of the same interpreter that only imports asyncio takes to its end.
func PythonStart(root string) (host, empty time.Duration, err error) {
	python, err := Python("msgpack")
	if err != nil {
		return 0, 0, err
	}
	start := time.Now()
	c, err := PythonHost(PythonSDK, root)
	host = time.Since(start)
	if err != nil {
		return 0, 0, err
	}
	if err := c.Close(); err != nil {
		return 0, 0, err
	}
	start = time.Now()
	err = exec.Command(python, "-c", "import asyncio").Run()
	return host, time.Since(start), errors.Join(err)
}
