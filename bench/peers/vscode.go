package peers

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/hosted"
	"github.com/hostsup/hostsup/extensions/manifest"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/supervisor"
)

// Commander asks an extension host of VS Code for commands of its extensions.
type Commander interface {
	// Execute has the command run that returns its argument. It is safe for
	// concurrent use.
	Execute(ctx context.Context) error
	// Pipeline has it run n times, with so many in flight.
	Pipeline(ctx context.Context, n, window int) error
	// Activate has the extension of that number activated, from 0 on.
	Activate(ctx context.Context, n int) error
	// Close ends the host and waits for it.
	Close() error
}

// VSCodeHost is what hosts of VS Code are started with.
type VSCodeHost struct {
	Root       string // of the build
	Node       string
	Extensions string // the folder that WriteExtensions has filled
	State      string
	Workspace  string // a folder; "" for none
}

// commandEcho is the command of every host: the first extension's, active from
// the start.
const (
	commandEcho = "bench.echo"
	echoed      = "hello"
	firstEvent  = "onCommand:" + commandEcho
)

// The calls of a host.
const (
	actorCommands   = "ExtHostCommands"
	methodExecute   = "$executeContributedCommand"
	actorExtensions = "ExtHostExtensionService"
	methodActivate  = "$activateByEvent"
)

// benchEvent is what the extension of that number is activated by.
func benchEvent(n int) string { return fmt.Sprintf("onBench:%d", n) }

// WriteExtensions fills a folder with the extension of commandEcho and n others
// for Activate.
func WriteExtensions(dir string, n int) error {
	write := func(name, events, script string) error {
		at := filepath.Join(dir, name)
		if err := os.Mkdir(at, 0o755); err != nil {
			return err
		}
		text := fmt.Sprintf(`{"name": %q, "publisher": "bench", "version": "1.0.0", "engines": {"vscode": "^1.60.0"}, "main": "./main.js", "activationEvents": [%q]}`, name, events)
		return errors.Join(
			os.WriteFile(filepath.Join(at, "package.json"), []byte(text), 0o644),
			os.WriteFile(filepath.Join(at, "main.js"), []byte(script), 0o644))
	}
	err := write("echo", firstEvent, `const vscode = require('vscode');
exports.activate = (context) => {
  context.subscriptions.push(vscode.commands.registerCommand('`+commandEcho+`', (x) => x));
};
`)
	for i := range n {
		if err == nil {
			err = write(fmt.Sprintf("e%d", i), benchEvent(i), "exports.activate = () => {};\n")
		}
	}
	return err
}

// Commands starts a host: under a supervisor that knows its extensions, or
// else by a driver with nothing but a table, a read loop and a write loop.
func Commands(v VSCodeHost, supervised bool) (Commander, error) {
	if supervised {
		return superviseCommands(v)
	}
	return dialVSCode(v)
}

func superviseCommands(v VSCodeHost) (Commander, error) {
	opt := vscode.Options{Root: v.Root, State: v.State}
	if v.Workspace != "" {
		opt.Workspace = &vscode.Workspace{Folders: []string{v.Workspace}}
	}
	h := supervisor.HostSpec{
		Name: "code", Command: v.command(), Protocol: vscode.New(opt),
		InheritEnv: []string{"PATH", "HOME"},
		Extensions: &plan.Spec{Folders: []manifest.Root{{Dir: v.Extensions, Origin: extensions.User}}},
	}
	h.Requests.Timeout, h.Requests.MaxPending = time.Hour, 1<<16
	s, host, err := supervise(supervisor.Spec{Groups: []supervisor.GroupSpec{{Name: "code", Hosts: []supervisor.HostSpec{h}}}, Parts: []supervisor.Part{hosted.Part{}}})
	if err != nil {
		return nil, err
	}
	c := &supervised{hostsupConn{s: s, h: host}}
	if err := s.Activate(context.Background(), "", firstEvent); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (v VSCodeHost) command() []string {
	return []string{v.Node, filepath.Join(v.Root, "out", "bootstrap-fork.js"), "--type=extensionHost"}
}

type supervised struct{ hostsupConn }

const execute = actorCommands + "." + methodExecute

func (c *supervised) Execute(ctx context.Context) error {
	var out string
	if err := c.h.Call(ctx, execute, []any{commandEcho, echoed}, &out); err != nil {
		return err
	}
	return rightEcho(out)
}

func rightEcho(out string) error {
	if out != echoed {
		return fmt.Errorf("%s: %q", commandEcho, out)
	}
	return nil
}

func (c *supervised) Pipeline(ctx context.Context, n, window int) error {
	queue := make([]*actors.Pending, window)
	args := []any{commandEcho, echoed}
	for i := range n + window {
		slot := &queue[i%window]
		if *slot != nil {
			var out string
			if err := (*slot).Result(&out); err != nil {
				return err
			}
			if err := rightEcho(out); err != nil {
				return err
			}
			*slot = nil
		}
		if i < n {
			var err error
			if *slot, err = c.h.Go(ctx, execute, args); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *supervised) Activate(ctx context.Context, n int) error {
	return c.s.Activate(ctx, "", benchEvent(n))
}

// driver drives a host by itself: it answers each request of the host with
// nothing, and keeps its own in a table. What it sends is not kept for sending
// it again, and nobody looks after the host.
type driver struct {
	cmd      *exec.Cmd
	nc       *net.UnixConn
	keep     pending
	w        *writer
	done     chan struct{} // closed by the read loop
	sent     uint32        // frames, of the encoder
	received uint32        // frames, of the read loop
	mu       sync.Mutex    // of received
	commands byte          // number of the actor
	services byte

	echo []byte // the arguments of a call of commandEcho
}

// frameHeader is the size of a frame's header: type, id, ack, length.
const frameHeader = 13

const (
	frameRegular = 1
	frameAck     = 3
	rpcRequest   = 1
	rpcAck       = 5
	rpcEmpty     = 7
	rpcJSON      = 9
	rpcError     = 11
)

func dialVSCode(v VSCodeHost) (_ Commander, err error) {
	build, err := vscode.ReadBuild(v.Root)
	if err != nil {
		return nil, err
	}
	c := &driver{keep: newTable(), done: make(chan struct{})}
	c.commands, _ = build.Number(actorCommands)
	c.services, _ = build.Number(actorExtensions)
	if c.echo, err = json.Marshal([]any{commandEcho, echoed}); err != nil {
		return nil, err
	}
	folders, err := filepath.Glob(filepath.Join(v.Extensions, "*"))
	if err != nil {
		return nil, err
	}
	p := vscode.New(vscode.Options{Root: v.Root, State: v.State, Folders: folders})
	dir, err := os.MkdirTemp("", "bench-vscode")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// The way to the socket and the opening are the library's; the frames after
	// it are not.
	rendezvous, err := p.Rendezvous(func() (string, error) { return dir, nil })
	if err != nil {
		return nil, err
	}
	argv, env := v.command(), rendezvous.Env()
	var path string
	for _, e := range env {
		if name, value, _ := bytes.Cut([]byte(e), []byte("=")); string(name) == "VSCODE_EXTHOST_IPC_HOOK" {
			path = string(value)
		}
	}
	if err := rendezvous.Close(); err != nil {
		return nil, err
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	defer ln.Close()
	c.cmd = exec.Command(argv[0], argv[1:]...)
	c.cmd.Env = append(env, "PATH="+os.Getenv("PATH"), "HOME="+os.Getenv("HOME"))
	c.cmd.Stderr = os.Stderr
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	if err := ln.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return nil, errors.Join(err, c.kill())
	}
	if c.nc, err = ln.AcceptUnix(); err != nil {
		return nil, errors.Join(err, c.kill())
	}
	c.w = newWriter(c.nc)
	src := bufio.NewReaderSize(c.nc, 64<<10)
	if err := c.open(p, src); err != nil {
		return nil, errors.Join(err, c.nc.Close(), c.kill())
	}
	go c.read(src)
	go c.w.loop(c.done)
	if err := c.activate(firstEvent); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *driver) kill() error {
	err := c.cmd.Process.Kill()
	_ = c.cmd.Wait() // it was killed
	return err
}

// open does the handshake, by the library's own.
func (c *driver) open(p *vscode.Protocol, src *bufio.Reader) error {
	s := p.Open(codec.Limits{})
	hs := s.Handshake(codec.Hello{Supervisor: "bench", Version: "0", Host: "code", Life: 1})
	messages, done := hs.Start()
	in, feed := io.Pipe()
	defer in.Close()
	reader := s.NewReader(in)
	for {
		for i := range messages {
			frame, err := s.Append(nil, &messages[i])
			if err != nil {
				return err
			}
			if err := c.w.send(func(dst []byte) ([]byte, error) { return c.frame(dst, frame[frameHeader:]), nil }, true); err != nil {
				return err
			}
		}
		if done {
			return nil
		}
		head, body, err := c.take(src, nil)
		if err != nil {
			return err
		}
		if head[0] != frameRegular {
			messages = nil
			continue
		}
		// Acks, and what is said of notifications, are no part of it.
		means := len(body) < 5 || body[0] != rpcAck && binary.BigEndian.Uint32(body[1:]) != 0
		if c.request(body) || !means {
			messages = nil
			continue
		}
		go func() {
			_, _ = feed.Write(append(bytes.Clone(head), body...)) // or in is closed
		}()
		var m codec.Message
		if err := reader.Next(&m); err != nil {
			return err
		}
		if messages, done, err = hs.Handle(&m); err != nil {
			return err
		}
	}
}

// frame appends a regular frame.
func (c *driver) frame(dst, body []byte) []byte {
	dst = c.head(dst, len(body))
	return append(dst, body...)
}

// head appends the header of the next regular frame. It is called by one sender
// at a time, in the order of the frames.
func (c *driver) head(dst []byte, n int) []byte {
	c.sent++
	c.mu.Lock()
	ack := c.received
	c.mu.Unlock()
	dst = binary.BigEndian.AppendUint32(append(dst, frameRegular), c.sent)
	dst = binary.BigEndian.AppendUint32(dst, ack)
	return binary.BigEndian.AppendUint32(dst, uint32(n))
}

// take reads a frame.
func (c *driver) take(src *bufio.Reader, buf []byte) (head, body []byte, err error) {
	if head, err = src.Peek(frameHeader); err != nil {
		return nil, nil, err
	}
	head = bytes.Clone(head)
	if _, err := src.Discard(frameHeader); err != nil {
		return nil, nil, err
	}
	n := int(binary.BigEndian.Uint32(head[9:]))
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	_, err = io.ReadFull(src, buf[:n])
	if head[0] == frameRegular {
		c.mu.Lock()
		c.received++
		c.mu.Unlock()
	}
	return head, buf[:n], err
}

// request answers what is one; false: it is none.
func (c *driver) request(body []byte) bool {
	if len(body) < 5 || body[0] < 1 || body[0] > 4 {
		return false
	}
	id := [4]byte(body[1:5])
	_ = c.w.send(func(dst []byte) ([]byte, error) {
		dst = append(append(c.head(dst, 5), rpcAck), id[:]...)
		return append(append(c.head(dst, 5), rpcEmpty), id[:]...), nil
	}, true) // the read loop finds the same
	return true
}

func (c *driver) read(src *bufio.Reader) {
	defer close(c.done)
	var buf []byte
	for {
		head, body, err := c.take(src, buf)
		if err != nil {
			c.keep.fail(err)
			return
		}
		buf = body
		if head[0] != frameRegular || len(body) < 5 || body[0] == rpcAck || c.request(body) {
			continue
		}
		id := binary.BigEndian.Uint32(body[1:])
		if id == 0 {
			continue
		}
		var a answer
		switch {
		case body[0] == rpcJSON && len(body) >= 9:
			a.raw = bytes.Clone(body[9:])
		case body[0] >= rpcError:
			a.err = fmt.Errorf("the host says %q", body[5:])
		}
		c.keep.settle(id, a)
	}
}

// call writes a request.
func (c *driver) call(id uint32, actor byte, method string, args []byte, alone bool) error {
	return c.w.send(func(dst []byte) ([]byte, error) {
		dst = c.head(dst, 1+4+1+1+len(method)+4+len(args))
		dst = binary.BigEndian.AppendUint32(append(dst, rpcRequest), id)
		dst = append(append(dst, actor, byte(len(method))), method...)
		return append(binary.BigEndian.AppendUint32(dst, uint32(len(args))), args...), nil
	}, alone)
}

func (c *driver) Execute(context.Context) error {
	t, err := c.keep.open()
	if err != nil {
		return err
	}
	if err := c.call(t.id, c.commands, methodExecute, c.echo, true); err != nil {
		return err
	}
	return decodeEcho(<-t.answer)
}

func decodeEcho(a answer) error {
	if a.err != nil {
		return a.err
	}
	var out string
	if err := json.Unmarshal(a.raw, &out); err != nil {
		return err
	}
	return rightEcho(out)
}

func (c *driver) Pipeline(_ context.Context, n, window int) error {
	queue := make([]ticket, window)
	for i := range n + window {
		slot := &queue[i%window]
		if slot.id != 0 {
			if err := decodeEcho(<-slot.answer); err != nil {
				return err
			}
			*slot = ticket{}
		}
		if i >= n {
			continue
		}
		var err error
		if *slot, err = c.keep.open(); err != nil {
			return err
		}
		args, err := json.Marshal([]any{commandEcho, echoed})
		if err != nil {
			return err
		}
		if err := c.call(slot.id, c.commands, methodExecute, args, false); err != nil {
			return err
		}
	}
	return nil
}

func (c *driver) Activate(_ context.Context, n int) error { return c.activate(benchEvent(n)) }

func (c *driver) activate(event string) error {
	t, err := c.keep.open()
	if err != nil {
		return err
	}
	args, err := json.Marshal([]any{event, 0})
	if err != nil {
		return err
	}
	if err := c.call(t.id, c.services, methodActivate, args, true); err != nil {
		return err
	}
	return (<-t.answer).err
}

// Close ends the host by the end of its connection, which it does not always
// take for one.
func (c *driver) Close() error {
	err := c.nc.Close()
	<-c.done
	return errors.Join(err, c.kill())
}
