package peers

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"os/exec"
	"strconv"
	"sync"
)

// framing is how JSON-RPC messages lie in a stream, and what is said first.
type framing interface {
	write(dst, message []byte) []byte
	// read returns a message, in a buffer that the next one may use again.
	read(r *bufio.Reader, buf []byte) ([]byte, error)
	opening() (params any, opened string)
	question() []byte        // a request without its id and the end
	right(result *said) bool // whether that is the answer
}

// headers is Content-Length before each message, with a language server.
type headers struct{}

func (headers) write(dst, m []byte) []byte {
	dst = strconv.AppendInt(append(dst, "Content-Length: "...), int64(len(m)), 10)
	return append(append(dst, "\r\n\r\n"...), m...)
}

func (headers) read(r *bufio.Reader, buf []byte) ([]byte, error) {
	n := -1
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		if textproto.CanonicalMIMEHeaderKey(string(name)) == "Content-Length" {
			if n, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return nil, err
			}
		}
	}
	if n < 0 || n > 1<<20 {
		return nil, fmt.Errorf("a message of %d bytes", n)
	}
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	_, err := io.ReadFull(r, buf[:n])
	return buf[:n], err
}

func (headers) opening() (params any, opened string) {
	p := lspInit()
	p["processId"], p["rootUri"] = os.Getpid(), nil
	return p, "initialized"
}

func (headers) question() []byte {
	return []byte(`{"jsonrpc":"2.0","method":"` + lspQuestion + `","id":`)
}
func (headers) right(got *said) bool { return got.Error != nil && got.Error.Code == -32601 }

// lines is a message on each line, with an MCP server.
type lines struct{}

func (lines) write(dst, m []byte) []byte { return append(append(dst, m...), '\n') }

func (lines) read(r *bufio.Reader, _ []byte) ([]byte, error) { return r.ReadSlice('\n') }

func (lines) opening() (params any, opened string) {
	return map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{},
		"clientInfo": map[string]string{"name": "bench", "version": "0"},
	}, "notifications/initialized"
}

func (lines) question() []byte {
	return []byte(`{"jsonrpc":"2.0","method":"` + mcpQuestion + `","id":`)
}
func (lines) right(got *said) bool { return got.Error == nil && got.Result != nil }

// said is a message of the server.
type said struct {
	ID     json.RawMessage
	Method string
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// bareJSON asks by a client with a table of channels and a read loop; who asks
// writes.
type bareJSON struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	f    framing
	keep pending
	done chan struct{} // closed by the read loop

	mu       sync.Mutex
	message  []byte
	out      []byte
	question []byte
}

func dialJSON(argv []string, f framing) (Asker, error) {
	c := &bareJSON{cmd: exec.Command(argv[0], argv[1:]...), f: f, keep: newTable(), done: make(chan struct{}), question: f.question()}
	var err error
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
	go c.read(bufio.NewReaderSize(out, 64<<10))
	params, opened := f.opening()
	first, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": firstID, "method": "initialize", "params": params})
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	t, err := c.keep.open()
	if err == nil {
		err = c.send(first)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	// It is judged like any answer, which it is not: only its coming counts.
	if a := <-t.answer; a.err != nil && !errors.Is(a.err, errAnswer) {
		return nil, errors.Join(a.err, c.Close())
	}
	if err := c.send([]byte(`{"jsonrpc":"2.0","method":"` + opened + `","params":{}}`)); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

var errAnswer = errors.New("not the answer that was expected")

func (c *bareJSON) send(message []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.write(message)
}

func (c *bareJSON) write(message []byte) error {
	c.out = c.f.write(c.out[:0], message)
	_, err := c.in.Write(c.out)
	return err
}

func (c *bareJSON) Ask(context.Context) error {
	t, err := c.keep.open()
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.message = append(strconv.AppendUint(append(c.message[:0], c.question...), uint64(t.id), 10), '}')
	err = c.write(c.message)
	c.mu.Unlock()
	if err != nil {
		return err
	}
	return (<-t.answer).err
}

func (c *bareJSON) read(r *bufio.Reader) {
	defer close(c.done)
	var buf []byte
	for {
		var err error
		if buf, err = c.f.read(r, buf); err != nil {
			c.keep.fail(err)
			return
		}
		var m said
		if err := json.Unmarshal(buf, &m); err != nil {
			c.keep.fail(fmt.Errorf("%w: %q", err, buf))
			return
		}
		if m.Method != "" {
			continue // what it tells or asks is not waited for
		}
		id, err := strconv.ParseUint(string(m.ID), 10, 32)
		if err != nil {
			c.keep.fail(fmt.Errorf("an answer to %s", m.ID))
			return
		}
		a := answer{}
		if !c.f.right(&m) {
			a.err = fmt.Errorf("%w: %q", errAnswer, buf)
		}
		c.keep.settle(uint32(id), a)
	}
}

// Close closes the input, which ends the server or not: a language server that
// was not shut down may exit with any code, or stay.
func (c *bareJSON) Close() error {
	err := c.in.Close()
	_ = c.cmd.Process.Kill() // it may have ended
	<-c.done
	var exit *exec.ExitError
	if e := c.cmd.Wait(); e != nil && !errors.As(e, &exit) {
		err = errors.Join(err, e)
	}
	return err
}
