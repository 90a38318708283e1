package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/bench/measure"
)

const (
	wayPipes  = "direct pipes"
	wayCopies = "two processes that copy" // as many as attach and the supervisor are

	shortSize  = 200 // bytes of a request, and of its answer
	shortCount = 4000
	shortWarm  = 400
	bulkCount  = 384 // answers of blobSize, after blobWarm
)

// clientFigures are those of one round of one way.
type clientFigures struct {
	P50    float64 // nanoseconds from a short request to its answer
	P99    float64
	Rate   float64 // bytes a second of the long answers
	Growth float64 // bytes of memory of all processes of hostsup, from the first answer on to the peak
}

// clientSection measures a client of hostsup attach beside one that has started the server
// itself.
func clientSection(opt options) (_ *report, err error) {
	r := &report{
		title: "A client of hostsup attach",
		head:  []string{"way", fmt.Sprintf("%d bytes, p50", shortSize), "p99", "p50 / direct", "answers of 1 MiB", "/ direct", "growth"},
	}
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "hostsup-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binary := filepath.Join(dir, "hostsup")
	if err := buildHostsup(root, binary); err != nil {
		return nil, err
	}
	ways := []string{wayOurs, wayCopies, wayPipes}
	rounds := min(opt.rounds, 5)
	all := map[string][]clientFigures{}
	for round := range rounds {
		fmt.Fprintf(os.Stderr, "client: round %d of %d\n", round+1, rounds)
		for i := range ways {
			way := ways[(i+round)%len(ways)]
			f, err := hire[clientFigures]("client", way, binary)
			if err != nil {
				return nil, err
			}
			all[way] = append(all[way], f)
		}
	}
	for _, way := range ways {
		p50, p99, rate, growth := clientColumns(all[way])
		base50, _, baseRate, _ := clientColumns(all[wayPipes])
		cells := []string{
			way, micros(measure.Median(p50)), micros(measure.Median(p99)), times(measure.Ratio(p50, base50)),
			megabytes(measure.Median(rate)), times(measure.Ratio(rate, baseRate)), mib(measure.Median(growth)),
		}
		if way != wayOurs {
			cells[6] = "–"
		}
		r.row(cells...)
	}
	r.note("medians of %d rounds in turns; ratios are medians of the ratios within a round; client and server are the same in all, and have pipes", rounds)
	r.note("%d short requests one at a time; then %d answers with %d requests in flight", shortCount, bulkCount, blobFlight)
	r.note("%s are what it takes to pass two more processes each way", wayCopies)
	r.note("growth is of the resident memory of the supervisor, of what it keeps beside the host, and of hostsup attach: at most, minus once the client is initialized")
	r.targets = clientTargets(all)
	return r, nil
}

func clientColumns(fs []clientFigures) (p50, p99, rate, growth []float64) {
	for _, f := range fs {
		p50, p99, rate, growth = append(p50, f.P50), append(p99, f.P99), append(rate, f.Rate), append(growth, f.Growth)
	}
	return p50, p99, rate, growth
}

// clientTargets are the promises.
func clientTargets(all map[string][]clientFigures) []target {
	base50, _, baseRate, _ := clientColumns(all[wayPipes])
	p50, _, rate, growth := clientColumns(all[wayOurs])
	g := measure.Median(growth)
	return []target{
		{
			what: "attached client, p50", ours: micros(measure.Median(p50)), peer: wayPipes + " " + micros(measure.Median(base50)),
			figure: measure.Ratio(p50, base50), limit: 2.5, unit: " ×",
		},
		{
			what: "attached client, 1 MiB", ours: megabytes(measure.Median(rate)), peer: wayPipes + " " + megabytes(measure.Median(baseRate)),
			figure: measure.Ratio(rate, baseRate), limit: 0.15, least: true, unit: " ×",
		},
		{what: "attached client, growth", ours: mib(g), figure: g / (1 << 20), limit: 40, unit: " MiB"},
	}
}

// clientWorker is the client: WAY BINARY.
func clientWorker(args []string) (f clientFigures, err error) {
	if len(args) != 2 {
		return f, errors.New("want WAY BINARY")
	}
	self, err := os.Executable()
	if err != nil {
		return f, err
	}
	command := []string{self, "worker", "attach-host"}
	var ours []int
	switch args[0] {
	case wayCopies:
		relay := []string{self, "worker", "relay"}
		command = slices.Concat(relay, relay, command)
	case wayOurs:
		s, err := superviseBlobs(args[1], command)
		if err != nil {
			return f, err
		}
		defer func() { err = errors.Join(err, s.stop()) }()
		command = s.attach
		ours = []int{s.cmd.Process.Pid}
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return f, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return f, err
	}
	if err := cmd.Start(); err != nil {
		return f, err
	}
	defer func() {
		err = errors.Join(err, in.Close())                                         // its end is theirs
		timer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() }) // it may have ended
		defer timer.Stop()
		err = errors.Join(err, cmd.Wait())
	}()
	c := &blobClient{w: in, r: bufio.NewReaderSize(out, blobSize+4096)}
	if err := c.initialize(); err != nil {
		return f, err
	}
	before := 0.0
	if ours != nil {
		if ours, err = withKeepers(ours[0]); err != nil {
			return f, err
		}
		ours = append(ours, cmd.Process.Pid)
		if before, err = memory(ours, "VmRSS"); err != nil {
			return f, err
		}
		if err := forgetPeaks(ours); err != nil {
			return f, err
		}
	}
	took := make([]float64, 0, shortCount)
	for i := range shortWarm + shortCount {
		begun := time.Now()
		if err := c.echo(); err != nil {
			return f, err
		}
		if i >= shortWarm {
			took = append(took, float64(time.Since(begun)))
		}
	}
	f.P50, f.P99 = measure.Quantile(took, 0.5), measure.Quantile(took, 0.99)
	if err := c.fetch(blobWarm); err != nil {
		return f, err
	}
	begun := time.Now()
	if err := c.fetch(bulkCount); err != nil {
		return f, err
	}
	f.Rate = bulkCount * blobSize / time.Since(begun).Seconds()
	peak, err := memory(ours, "VmHWM")
	f.Growth = peak - before
	return f, err
}

// relay starts the command ARGV and copies what it reads to that, and back.
func relay(argv []string) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	sent := make(chan error, 1)
	go func() {
		_, err := io.Copy(in, os.Stdin)
		sent <- errors.Join(err, in.Close())
	}()
	_, err = io.Copy(os.Stdout, out)
	return errors.Join(err, <-sent, cmd.Wait())
}

// echo makes a request of shortSize bytes and reads its answer, which is as long.
func (c *blobClient) echo() error {
	c.last++
	head, tail := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"echo","params":{"text":"`, c.last), "\"}}\n"
	line := head + strings.Repeat("x", shortSize-len(head)-len(tail)) + tail
	if _, err := io.WriteString(c.w, line); err != nil {
		return err
	}
	answer, err := c.r.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(answer, []byte(blobHead+strconv.Itoa(c.last)+`,"result":{"text":"x`)) || len(answer) < shortSize/2 {
		return fmt.Errorf("request %d was answered with %.200q", c.last, answer)
	}
	return nil
}

// withKeepers returns the supervisor's process and those that it keeps beside the host's.
func withKeepers(supervisor int) ([]int, error) {
	below, err := measure.Descendants(supervisor)
	pids := []int{supervisor}
	for _, d := range below {
		argv, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", d.PID))
		if err == nil && !bytes.Contains(argv, []byte("attach-host")) {
			pids = append(pids, d.PID)
		}
	}
	return pids, err
}

// blobSupervisor is hostsup run with the host that answers.
type blobSupervisor struct {
	cmd    *exec.Cmd
	dir    string
	attach []string // the command line that a client starts
}

// superviseBlobs starts it.
func superviseBlobs(binary string, host []string) (_ *blobSupervisor, err error) {
	dir, err := os.MkdirTemp("", "hostsup-bench-")
	if err != nil {
		return nil, err
	}
	s := &blobSupervisor{dir: dir}
	quoted := make([]string, len(host))
	for i, word := range host {
		quoted[i] = strconv.Quote(word)
	}
	file, socket := filepath.Join(dir, "config.hcl"), filepath.Join(dir, "s")
	text := fmt.Sprintf(`supervisor {
  socket    = %q
  state_dir = %q
}
host "blobs" {
  command  = [%s]
  protocol = "jsonrpc-lines"
}
`, socket, filepath.Join(dir, "state"), strings.Join(quoted, ", "))
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	ready, told, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ready.Close()) }()
	s.cmd = exec.Command(binary, "run", "-c", file)
	s.cmd.Stderr = told
	err = s.cmd.Start()
	if err := errors.Join(err, told.Close()); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(ready)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil, errors.Join(fmt.Errorf("hostsup run ended before it was ready: %w", err), s.cmd.Process.Kill(), s.cmd.Wait())
		}
		if strings.HasPrefix(line, "hostsup: ready") {
			break
		}
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }() // ends with the supervisor
	s.attach = []string{binary, "--socket", socket, "attach", "blobs"}
	return s, nil
}

// stop ends the supervisor.
func (s *blobSupervisor) stop() error {
	err := s.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(20*time.Second, func() { _ = s.cmd.Process.Kill() }) // it may have ended
	defer timer.Stop()
	return errors.Join(err, s.cmd.Wait(), os.RemoveAll(s.dir))
}
