package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/bench/measure"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/supervisor"
)

const (
	blobSize   = 1 << 20
	blobCount  = 1024
	blobFlight = 8
	blobWarm   = 16 // before the figures of one round

	// What the host answers, but for the id in front of it.
	blobHead = `{"jsonrpc":"2.0","id":`
	blobText = `,"result":"`
	blobEnd  = "\"}\n"
)

// attachFigures are those of one round of one way.
type attachFigures struct {
	Took   float64 // nanoseconds for all of it
	Before float64 // bytes of memory of hostsup, once the client is initialized
	Peak   float64 // bytes at most from then on
}

// attachSection passes much through a hub, and by the same client without it.
func attachSection(opt options) (*report, error) {
	r := &report{
		title: fmt.Sprintf("%d MiB in answers of 1 MiB to an attached client", blobCount),
		head:  []string{"way", "time", "MB/s", "memory before", "at most"},
	}
	ways := []string{wayOurs, wayBare}
	rounds := min(opt.rounds, 5)
	all := map[string][]attachFigures{}
	for round := range rounds {
		fmt.Fprintf(os.Stderr, "attach: round %d of %d\n", round+1, rounds)
		for i := range ways {
			way := ways[(i+round)%len(ways)]
			f, err := hire[attachFigures]("attach", way)
			if err != nil {
				return nil, err
			}
			all[way] = append(all[way], f)
		}
	}
	for _, way := range ways {
		var took, before, peak []float64
		for _, f := range all[way] {
			took, before, peak = append(took, f.Took), append(before, f.Before), append(peak, f.Peak)
		}
		m := measure.Median(took)
		cells := []string{way, millis(m), fmt.Sprintf("%.0f", blobCount*blobSize/1e6/(m/1e9)), mib(measure.Median(before)), mib(measure.Median(peak))}
		if way == wayBare {
			cells[3], cells[4] = "–", "–"
		}
		r.row(cells...)
	}
	r.note("medians of %d rounds in turns; %d requests in flight; a host that has its answers ready, and a client that counts them, in processes of their own", rounds, blobFlight)
	r.note("memory is resident, of the process that supervises; before: when the client is initialized")
	r.targets = []target{attachTarget(all[wayOurs])}
	return r, nil
}

// attachTarget is the promise.
func attachTarget(fs []attachFigures) target {
	growth := make([]float64, len(fs))
	for i, f := range fs {
		growth[i] = f.Peak - f.Before
	}
	m := measure.Median(growth)
	return target{what: "attach: memory for 1 GiB", ours: mib(m), figure: m / (1 << 20), limit: 40, unit: " MiB"}
}

// attachWorker is the client: WAY. Beyond its end of a socket lies a supervisor
// with the host, or the host itself.
func attachWorker(args []string) (f attachFigures, err error) {
	if len(args) != 1 {
		return f, errors.New("want WAY")
	}
	ours, theirs, err := socketPair()
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, ours.Close()) }()
	through := args[0] == wayOurs
	verb := "attach-host"
	if through {
		verb = "attach-hub"
	}
	cmd, err := workerCommand(verb)
	if err != nil {
		return f, errors.Join(err, theirs.Close())
	}
	if through {
		cmd.ExtraFiles = []*os.File{theirs}
	} else {
		cmd.Stdin, cmd.Stdout = theirs, theirs
	}
	err = cmd.Start()
	if err := errors.Join(err, theirs.Close()); err != nil {
		return f, err
	}
	defer func() {
		err = errors.Join(err, ours.CloseWrite())                                  // its end is theirs
		timer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() }) // it may have ended
		defer timer.Stop()
		err = errors.Join(err, cmd.Wait())
	}()
	c := &blobClient{w: ours, r: bufio.NewReaderSize(ours, blobSize+4096)}
	if err := c.initialize(); err != nil {
		return f, err
	}
	pids := []int{cmd.Process.Pid}
	if f.Before, err = memory(pids, "VmRSS"); err != nil {
		return f, err
	}
	if err := c.fetch(blobWarm); err != nil {
		return f, err
	}
	start := time.Now()
	if err := c.fetch(blobCount); err != nil {
		return f, err
	}
	f.Took = float64(time.Since(start))
	f.Peak, err = memory(pids, "VmHWM")
	return f, err
}

// socketPair returns both ends of a unix socket, one of them to hand on.
func socketPair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	theirs := os.NewFile(uintptr(fds[1]), "socketpair")
	own := os.NewFile(uintptr(fds[0]), "socketpair")
	conn, err := net.FileConn(own)
	if err := errors.Join(err, own.Close()); err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return conn.(*net.UnixConn), theirs, nil
}

// blobClient speaks JSON-RPC in lines as far as is needed here.
type blobClient struct {
	w    io.Writer
	r    *bufio.Reader
	last int // id
}

// initialize opens the connection as an MCP client does.
func (c *blobClient) initialize() error {
	if _, err := io.WriteString(c.w, `{"jsonrpc":"2.0","id":"first","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"0"}}}`+"\n"); err != nil {
		return err
	}
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return err
	}
	var m struct {
		ID     string
		Result struct{ ProtocolVersion string }
	}
	if err := json.Unmarshal(line, &m); err != nil || m.ID != "first" || m.Result.ProtocolVersion == "" {
		return fmt.Errorf("initialize was answered with %.200q: %w", line, err)
	}
	_, err = io.WriteString(c.w, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return err
}

// fetch gets n blobs, with up to blobFlight in flight.
func (c *blobClient) fetch(n int) error {
	open := map[int]bool{}
	for asked, got := 0, 0; got < n; got++ {
		for ; asked < n && len(open) < blobFlight; asked++ {
			c.last++
			open[c.last] = true
			if _, err := fmt.Fprintf(c.w, `{"jsonrpc":"2.0","id":%d,"method":"blob"}`+"\n", c.last); err != nil {
				return err
			}
		}
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return err
		}
		id, err := blobID(line)
		if err != nil {
			return err
		}
		if !open[id] {
			return fmt.Errorf("an answer to %d, which is not open", id)
		}
		delete(open, id)
	}
	return nil
}

// blobID is the id that a blob answers. The blob has to be whole.
func blobID(line []byte) (int, error) {
	head, text, ok := bytes.Cut(line, []byte(blobText))
	number, first := bytes.CutPrefix(head, []byte(blobHead))
	if !ok || !first || !bytes.HasSuffix(text, []byte(blobEnd)) || len(text) != blobSize+len(blobEnd) || bytes.IndexByte(text, '"') != blobSize {
		return 0, fmt.Errorf("%d bytes that are no blob: %.100q", len(line), line)
	}
	return strconv.Atoi(string(number))
}

// attachHub supervises the host and lets the client on descriptor 3 attach to
// it. It ends when the client leaves.
func attachHub([]string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	rw := os.NewFile(3, "client")
	conn, err := net.FileConn(rw)
	if err := errors.Join(err, rw.Close()); err != nil {
		return err
	}
	ctx := context.Background()
	h := supervisor.HostSpec{Name: "blobs", Command: []string{self, "worker", "attach-host"}, Protocol: jsonrpc.Lines(jsonrpc.Options{}), Attach: true}
	s, err := supervisor.Start(ctx, supervisor.Spec{Groups: []supervisor.GroupSpec{{Name: "blobs", Hosts: []supervisor.HostSpec{h}}}, Parts: []supervisor.Part{attach.Part{}}})
	if err != nil {
		return err
	}
	err = s.Attach(ctx, "blobs", conn)
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return errors.Join(err, s.Stop(ctx))
}

// attachHost is a server that answers with blobs or what it was sent, until its input ends.
func attachHost([]string) error { return answerBlobs(os.Stdin, os.Stdout) }

func answerBlobs(r io.Reader, w io.Writer) error {
	blob := blobText + strings.Repeat("0123456789abcdef", blobSize/16) + blobEnd
	in, out := bufio.NewReader(r), bufio.NewWriterSize(w, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
		answer := `,"result":{}}` + "\n"
		switch {
		case len(m.ID) == 0:
			continue
		case m.Method == "initialize":
			answer = `,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"blobs","version":"0"}}}` + "\n"
		case m.Method == "blob":
			answer = blob
		case m.Method == "echo":
			answer = `,"result":` + string(m.Params) + "}\n"
		}
		for _, part := range []string{blobHead, string(m.ID), answer} {
			if _, err := out.WriteString(part); err != nil {
				return err
			}
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
}
