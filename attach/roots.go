package attach

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/hostsup/hostsup/supervisor"
)

const (
	// rootsID is that of the request that a program is asked by. The hub counts its own from 1.
	rootsID = 1<<32 - 1
	// rootsWithin is how long its answer is waited for, while the program waits for that to
	// its initialize.
	rootsWithin = 5 * time.Second
)

// rootOf asks an MCP client that has roots for them, and returns the first one that is a folder
// of this machine; "" for a client that has none or does not answer. The stream that it returns
// begins as rw did.
//
// The protocol would have a server wait for notifications/initialized. But then the client had
// the answer of an instance already, and which one that is depends on the root.
func rootOf(ctx context.Context, spec supervisor.HostSpec, rw io.ReadWriteCloser) (string, io.ReadWriteCloser, error) {
	first, rw, err := peek(ctx, spec, rw)
	if err != nil {
		return "", rw, err
	}
	o, _ := readObject(first.Params) // none if it is not initialize
	can, _ := readObject(o["capabilities"])
	if roots := can["roots"]; len(roots) == 0 || roots[0] != '{' {
		return "", rw, nil
	}
	return askRoots(ctx, rw, spec.Limits.WithDefaults().Frame)
}

// line is what was read up to the end of a line.
type line struct {
	text []byte
	err  error
}

func askRoots(ctx context.Context, rw io.ReadWriteCloser, limit int) (string, io.ReadWriteCloser, error) {
	stop := context.AfterFunc(ctx, func() { _ = rw.Close() })
	defer stop()
	if _, err := io.WriteString(rw, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"roots/list"}`+"\n", uint32(rootsID))); err != nil {
		return "", rw, err
	}
	late := time.NewTimer(rootsWithin)
	defer late.Stop()
	in, lines := bufio.NewReader(rw), make(chan line, 1)
	var kept bytes.Buffer
	for {
		go func() { lines <- readLine(in, limit) }() // ends with the line, or with the stream
		select {
		case l := <-lines:
			if root, is := rootsIn(l.text); is {
				return root, begun{io.MultiReader(&kept, in), rw}, nil
			}
			kept.Write(l.text)
			if l.err != nil || kept.Len() > limit {
				return "", begun{io.MultiReader(&kept, in), rw}, nil // the hub finds what is wrong
			}
		case <-late.C:
			return "", begun{io.MultiReader(&kept, &lateLine{lines: lines}, in), rw}, nil
		case <-ctx.Done():
			return "", rw, context.Cause(ctx)
		}
	}
}

// readLine reads a line, or as much of it as makes it too long.
func readLine(in *bufio.Reader, limit int) (l line) {
	for {
		part, err := in.ReadSlice('\n')
		l.text = append(l.text, part...)
		if err != bufio.ErrBufferFull || len(l.text) > limit { //nolint:errorlint // it is not wrapped
			l.err = err
			return l
		}
	}
}

// lateLine is a line that is being read, without the answer that nobody waits for any more.
type lateLine struct {
	lines chan line
	read  bool
	rest  []byte
}

func (l *lateLine) Read(p []byte) (int, error) {
	if !l.read {
		l.read = true
		l.rest = (<-l.lines).text
		if _, is := rootsIn(l.rest); is {
			l.rest = nil
		}
	}
	if len(l.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// rootsIn returns the first folder of this machine that an answer has.
func rootsIn(text []byte) (root string, isAnswer bool) {
	if !bytes.Contains(text, []byte("4294967295")) {
		return "", false
	}
	var m struct {
		ID     any    `json:"id"`
		Method string `json:"method"`
		Result struct {
			Roots []struct {
				URI string `json:"uri"`
			} `json:"roots"`
		} `json:"result"`
	}
	err := json.Unmarshal(text, &m)
	if m.ID != float64(rootsID) || m.Method != "" {
		return "", false
	}
	if err != nil {
		return "", true // an answer of another form
	}
	for _, r := range m.Result.Roots {
		if path, err := folderOf(r.URI); err == nil {
			return path, true
		}
	}
	return "", true
}
