package capture

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// input writes size bytes of 100-byte lines, newlines included.
func input(b *testing.B, size int) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "input")
	line := append(bytes.Repeat([]byte{'x'}, 99), '\n')
	if err := os.WriteFile(path, bytes.Repeat(line, size/len(line)), 0o600); err != nil {
		b.Fatal(err)
	}
	return path
}

// catCat is what capturing is measured against: cat input | cat >file.
func catCat(b *testing.B, in string) time.Duration {
	out := filepath.Join(filepath.Dir(in), "out")
	start := time.Now()
	cmd := exec.Command("sh", "-c", `cat "$1" | cat >"$2"`, "sh", in, out)
	if err := cmd.Run(); err != nil {
		b.Fatal(err)
	}
	d := time.Since(start)
	_ = os.Remove(out)
	return d
}

// captured runs cat input into a Log with the given files.
func captured(b *testing.B, in string, size int, opt Options) time.Duration {
	opt.Dir, opt.Name = b.TempDir(), "x"
	start := time.Now()
	l := New(opt)
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	c := l.Capture(r, Stdout, 1)
	cmd := exec.Command("sh", "-c", `cat "$1"`, "sh", in)
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	w.Close()
	<-c.Done()
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	d := time.Since(start)
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	if n := l.Stats().LostLines; n != 0 || l.Lines() != uint64(size/100) {
		b.Fatalf("%d lines captured, %d of them dropped; %d were printed", l.Lines(), n, size/100)
	}
	_ = os.RemoveAll(opt.Dir)
	return d
}

const benchSize = 50_000_000

func BenchmarkCatCat(b *testing.B) {
	in := input(b, benchSize)
	b.SetBytes(benchSize)
	for b.Loop() {
		catCat(b, in)
	}
}

func BenchmarkCapture(b *testing.B) {
	in := input(b, benchSize)
	b.SetBytes(benchSize)
	b.ReportAllocs()
	for b.Loop() {
		captured(b, in, benchSize, Options{})
	}
}

// BenchmarkRatio runs both in turn and reports how many times as long as
// cat | cat >file capturing takes: with the default rotation, and into one
// file that keeps everything.
func BenchmarkRatio(b *testing.B) {
	for _, mb := range []int{50, 200} {
		for name, opt := range map[string]Options{"rotating": {}, "onefile": {Rules: Rules{MaxSize: 1 << 30}}} {
			b.Run(strconv.Itoa(mb)+"MB/"+name, func(b *testing.B) {
				size := mb * 1_000_000
				in := input(b, size)
				var cats, ours time.Duration
				for b.Loop() {
					cats += catCat(b, in)
					ours += captured(b, in, size, opt)
				}
				b.ReportMetric(float64(ours)/float64(cats), "×cat")
			})
		}
	}
}

// BenchmarkLine adds one short line at a time, as most hosts print.
func BenchmarkLine(b *testing.B) {
	for name, dir := range map[string]string{"memory": "", "file": b.TempDir()} {
		b.Run(name, func(b *testing.B) {
			l := New(Options{Dir: dir, Name: "x"})
			defer l.Close()
			line := []byte("a line of some sixty bytes, as hosts print them, give or take\n")
			b.ReportAllocs()
			for b.Loop() {
				l.take(line, 0, false, Stdout, 1)
			}
		})
	}
}

func BenchmarkHistory(b *testing.B) {
	l := New(Options{Dir: b.TempDir(), Name: "x"})
	defer l.Close()
	say(l, 1, string(bytes.Repeat([]byte("a line of some sixty bytes, as hosts print them, give or take\n"), 100000)))
	for b.Loop() {
		if lines, err := l.History(5000); err != nil || len(lines) != 5000 {
			b.Fatal(len(lines), err)
		}
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) Truncate(int64) error        { return nil }
func (discard) Sync() error                 { return nil }
func (discard) Close() error                { return nil }

// BenchmarkTake measures a read of the largest buffer without the kernel.
func BenchmarkTake(b *testing.B) {
	l := New(Options{Dir: b.TempDir(), Name: "x"})
	defer l.Close()
	l.sink.openFile = func(string) (file, int64, error) { return discard{}, 0, nil }
	chunk := bytes.Repeat(append(bytes.Repeat([]byte{'x'}, 99), '\n'), bufferSizes[largest]/100)
	b.SetBytes(int64(len(chunk)))
	b.ReportAllocs()
	for b.Loop() {
		l.take(chunk, 0, false, Stdout, 1)
	}
}
