package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/hostsup/hostsup/bench/measure"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

const (
	lineSize  = 100 // with the newline
	lineCount = 2_000_000
)

// sourceLine is the i-th line of the output, without its newline.
func sourceLine(dst []byte, i int) []byte {
	dst = fmt.Appendf(dst[:0], "%010d ", i)
	for len(dst) < lineSize-1 {
		dst = append(dst, 'a'+byte(len(dst)%26))
	}
	return dst
}

func writeSource(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	var line []byte
	for i := range lineCount {
		line = sourceLine(line, i)
		if _, err := w.Write(append(line, '\n')); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return errors.Join(w.Flush(), f.Close())
}

func captureSection(opt options) (_ *report, err error) {
	dir, err := os.MkdirTemp("", "hostsup-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	source := filepath.Join(dir, "source")
	if err := writeSource(source); err != nil {
		return nil, err
	}
	var ours, cats []float64
	for range min(opt.rounds, 5) {
		state := filepath.Join(dir, "state")
		took, err := hire[float64]("capture", source, state)
		if err != nil {
			return nil, err
		}
		ours = append(ours, took)
		if took, err = catCat(source, filepath.Join(dir, "out")); err != nil {
			return nil, err
		}
		cats = append(cats, took)
		if err := errors.Join(os.RemoveAll(state), os.Remove(filepath.Join(dir, "out"))); err != nil {
			return nil, err
		}
	}
	r := &report{
		title: fmt.Sprintf("%d MB of %d-byte lines captured", lineSize*lineCount/1_000_000, lineSize),
		head:  []string{"who", "time", "MB/s", "/ cat"},
	}
	for _, who := range []struct {
		name string
		took []float64
	}{{"hostsup", ours}, {"cat into cat >file", cats}} {
		m := measure.Median(who.took)
		r.row(who.name, millis(m), fmt.Sprintf("%.0f", lineSize*lineCount/1e6/(m/1e9)), times(measure.Ratio(who.took, cats)))
	}
	r.note("from the start of the supervisor to the last line in its log; %d rounds in turns; every line is then found in the file, in order", len(ours))
	r.targets = []target{{
		what: "capture of output", ours: millis(measure.Median(ours)), peer: "cat into cat >file " + millis(measure.Median(cats)),
		figure: measure.Ratio(ours, cats), limit: 2, unit: " ×",
	}}
	return r, nil
}

func catCat(source, out string) (float64, error) {
	start := time.Now()
	cmd := exec.Command("sh", "-c", `cat "$0" | cat >"$1"`, source, out)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return 0, err
	}
	return float64(time.Since(start)), nil
}

// captureWorker has a host write SOURCE to its standard output and keeps that
// under STATE. It returns the nanoseconds to the last line.
func captureWorker(args []string) (float64, error) {
	if len(args) != 2 {
		return 0, errors.New("want SOURCE STATE")
	}
	h := supervisor.HostSpec{Name: "cat", Command: []string{"cat", args[0]}}
	h.Log.MaxSize = 4 * lineSize * lineCount
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	last := string(sourceLine(nil, lineCount-1))
	start := time.Now()
	s, err := supervisor.Start(ctx, supervisor.Spec{
		Groups:   []supervisor.GroupSpec{{Name: "cat", Hosts: []supervisor.HostSpec{h}}},
		StateDir: args[1],
	})
	if err != nil {
		return 0, err
	}
	took, err := lastLine(ctx, s, last, start)
	if err = errors.Join(err, s.Stop(ctx)); err != nil {
		return 0, err
	}
	return float64(took), checkLog(args[1])
}

// lastLine waits for the host's end and its last line.
func lastLine(ctx context.Context, s *supervisor.Supervisor, last string, start time.Time) (time.Duration, error) {
	if err := s.Ready(ctx); err != nil {
		return 0, err
	}
	host, err := s.Host("cat")
	if err != nil {
		return 0, err
	}
	if err := host.Wait(ctx, lifecycle.Stopped, lifecycle.Failed); err != nil {
		return 0, err
	}
	for line := range host.Follow(ctx, 1) {
		if line.Text == last {
			return time.Since(start), nil
		}
	}
	return 0, errors.New("the last line was never captured")
}

// checkLog finds every line of the source in the log files below dir, in
// order, whatever a log line has in front of it.
func checkLog(dir string) error {
	var logs []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasPrefix(d.Name(), "cat") && strings.Contains(d.Name(), ".log") {
			logs = append(logs, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(logs) != 1 {
		return fmt.Errorf("want one log file below the rotation size, got %v", logs)
	}
	f, err := os.Open(logs[0])
	if err != nil {
		return err
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	var want []byte
	n := 0
	for ; sc.Scan(); n++ {
		want = sourceLine(want, n)
		if !bytes.HasSuffix(sc.Bytes(), want) {
			return fmt.Errorf("line %d of the log is %q, want the end to be %q", n, sc.Bytes(), want)
		}
	}
	if err := sc.Err(); err != nil {
		return err
	}
	if n != lineCount {
		return fmt.Errorf("%d lines in the log, want %d", n, lineCount)
	}
	return nil
}
