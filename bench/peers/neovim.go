package peers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"

	"github.com/vmihailenco/msgpack/v5"
)

// neovimPeer asks Neovim to evaluate a string literal over MessagePack-RPC on
// its standard streams, by a client with a table of channels and one writer.
func neovimPeer() Peer {
	return Peer{Name: "neovim", Dial: func() (Conn, error) {
		return dialNeovim(func(dec *msgpack.Decoder) ([]byte, error) {
			s, err := dec.DecodeString()
			return []byte(s), err
		})
	}}
}

// neovimCommand is Neovim without a screen, with its API on the standard
// streams.
func neovimCommand() ([]string, error) {
	path, err := exec.LookPath("nvim")
	if err != nil {
		return nil, fmt.Errorf("neovim: %w", ErrMissing)
	}
	return []string{path, "--embed", "--headless", "--clean"}, nil
}

// dialNeovim starts Neovim; result reads what it answered.
func dialNeovim(result func(*msgpack.Decoder) ([]byte, error)) (*neovim, error) {
	argv, err := neovimCommand()
	if err != nil {
		return nil, err
	}
	c := &neovim{
		cmd: exec.Command(argv[0], argv[1:]...), result: result,
		keep: newTable(), done: make(chan struct{}),
	}
	c.cmd.Stderr = os.Stderr
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	c.enc = msgpack.NewEncoder(c)
	c.w = newWriter(c.in)
	go c.read(out)
	go c.w.loop(c.done)
	return c, nil
}

type neovim struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	keep pending
	w    *writer
	open atomic.Int64  // requests in flight
	done chan struct{} // closed by the read loop

	result func(*msgpack.Decoder) ([]byte, error) // of the read loop

	enc *msgpack.Encoder // onto out; used by one sender at a time
	out []byte
}

// Write takes what the encoder makes.
func (c *neovim) Write(p []byte) (int, error) {
	c.out = append(c.out, p...)
	return len(p), nil
}

func (c *neovim) Echo(_ context.Context, payload []byte) ([]byte, error) {
	return c.eval("'" + string(payload) + "'")
}

func (c *neovim) eval(expression string) ([]byte, error) {
	t, err := c.keep.open()
	if err != nil {
		return nil, err
	}
	alone := c.open.Add(1) == 1
	defer c.open.Add(-1)
	err = c.w.send(func(dst []byte) ([]byte, error) {
		c.out = dst
		err := errors.Join(
			c.enc.EncodeArrayLen(4), c.enc.EncodeUint(0), c.enc.EncodeUint(uint64(t.id)), c.enc.EncodeString("nvim_eval"),
			c.enc.EncodeArrayLen(1), c.enc.EncodeString(expression))
		return c.out, err
	}, alone)
	if err != nil {
		return nil, err
	}
	a := <-t.answer
	return a.raw, a.err
}

func (c *neovim) read(r io.Reader) {
	defer close(c.done)
	dec := msgpack.NewDecoder(bufio.NewReaderSize(r, 64<<10))
	for {
		n, err := dec.DecodeArrayLen()
		if err != nil {
			c.keep.fail(err)
			return
		}
		kind, err := dec.DecodeInt()
		if err != nil || kind != 1 || n != 4 {
			c.keep.fail(fmt.Errorf("not a response: %d elements, kind %d, %w", n, kind, err))
			return
		}
		id, err := dec.DecodeUint32()
		if err != nil {
			c.keep.fail(err)
			return
		}
		failure, err1 := dec.DecodeInterface()
		result, err2 := c.result(dec)
		if err := errors.Join(err1, err2); err != nil {
			c.keep.fail(err)
			return
		}
		a := answer{raw: result}
		if failure != nil {
			a.err = fmt.Errorf("neovim: %v", failure)
		}
		c.keep.settle(id, a)
	}
}

// Close closes the input, which ends Neovim.
func (c *neovim) Close() error {
	err := c.in.Close()
	<-c.done
	return errors.Join(err, c.cmd.Wait())
}
