package files

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/sys"
)

// A worker is another process of this program, which carries out requests about
// files and nothing else. The server that starts it confines it, so that the
// kernel enforces the policy on each access: there is no gap between a check and
// an access. It is recognised by its name in argv[0] and a socket on descriptor 3,
// and ends when the socket is closed.

// WorkerName is argv[0] of a worker.
const WorkerName = "hostsup-files"

// workerFD is the descriptor of a worker's socket.
const workerFD = 3

func init() {
	if len(os.Args) == 1 && os.Args[0] == WorkerName && sys.IsSocket(workerFD) {
		os.Exit(work(os.NewFile(workerFD, "server")))
	}
}

// Both directions of a worker's socket carry frames: the number of the request
// (8 bytes), the length of what follows (4 bytes), and one byte that says what
// it is. Numbers are little-endian.
const frameHead = 13

// What a frame holds.
const (
	frameRequest  = 'q' // the method, a zero byte, the params
	frameExtended = 'x' // the same, with the members of extensions in force
	frameResult   = 'r' // the result, as JSON
	frameError    = 'e' // an answer with an error and the id 0, as JSON
)

// maxFrame is how long a frame may be: the largest file, in base64, and what
// is around it.
const maxFrame = wire.MaxReadFile/3*4 + 64<<10

var errFrame = errors.New("a malformed frame")

// writeFrame writes one frame.
func writeFrame(w io.Writer, n uint64, kind byte, parts ...[]byte) error {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	b := make([]byte, 0, frameHead+size)
	b = binary.LittleEndian.AppendUint64(b, n)
	b = binary.LittleEndian.AppendUint32(b, uint32(size))
	b = append(b, kind)
	for _, p := range parts {
		b = append(b, p...)
	}
	_, err := w.Write(b)
	return err
}

// readFrame reads one frame. Memory is taken as bytes come.
func readFrame(r io.Reader) (n uint64, kind byte, body []byte, err error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, 0, nil, err
	}
	size := int(binary.LittleEndian.Uint32(head[8:]))
	if size > maxFrame {
		return 0, 0, nil, errFrame
	}
	var b bytes.Buffer
	b.Grow(min(size, 1<<20) + bytes.MinRead)
	if _, err := io.CopyN(&b, r, int64(size)); err != nil {
		return 0, 0, nil, err
	}
	return binary.LittleEndian.Uint64(head[:]), head[12], b.Bytes(), nil
}

// work serves a worker's socket until it is closed. It returns the exit code.
func work(sock io.ReadWriter) int {
	f := New(Limits{})
	defer f.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var mu sync.Mutex
	for {
		n, kind, body, err := readFrame(sock)
		if err != nil {
			return 0 // the server has ended, or has no more use for this
		}
		go func() {
			kind, answer := f.serve(ctx, kind, body)
			mu.Lock()
			defer mu.Unlock()
			_ = writeFrame(sock, n, kind, answer) // if the other end is closed, the next read ends the loop
		}()
	}
}

// serve carries out the request in one frame.
func (f *Files) serve(ctx context.Context, kind byte, body []byte) (byte, []byte) {
	const head, tail = `{"id":0,"result":`, `}`
	v, bad := f.request(ctx, kind == frameExtended, body)
	if bad == nil {
		answer, err := wire.AppendResult(nil, wire.IntID(0), v)
		if err == nil {
			return frameResult, answer[len(head) : len(answer)-len(tail)]
		}
		bad = wire.Internal("%s", err)
	}
	return frameError, wire.AppendError(nil, wire.IntID(0), bad)
}

func (f *Files) request(ctx context.Context, ext bool, body []byte) (any, *wire.Error) {
	method, params, ok := bytes.Cut(body, []byte{0})
	decode := methods[string(method)]
	if !ok || decode == nil {
		return nil, wire.Internal("%s", errFrame)
	}
	q, bad := decode(params, ext)
	if bad != nil {
		return nil, bad
	}
	return f.Do(ctx, q)
}
