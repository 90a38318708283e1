package capture

import (
	"bytes"
	"os"
	"runtime"
	"testing"
)

// A silent host with two streams must hold less than 3 KiB of heap, including the two
// files, and no read buffer.
func TestIdleMemory(t *testing.T) {
	const hosts = 200
	dir := t.TempDir()
	heap := func() (heap, stack uint64) {
		for range 4 { // pools and cleanups give their memory back over several
			runtime.GC()
			runtime.Gosched()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc, m.StackInuse
	}
	logs := make([]*Log, 0, hosts)
	captures := make([]*Capture, 0, 2*hosts)
	ends := make([]*os.File, 0, 2*hosts)
	probe := make([]byte, 1<<20) // room for the traces of 400 goroutines
	heap0, stack0 := heap()
	for range hosts {
		l := New(Options{Dir: dir, Name: "host"})
		logs = append(logs, l)
		for _, s := range []Stream{Stdout, Stderr} {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			ends = append(ends, w)
			captures = append(captures, l.Capture(r, s, 1))
		}
	}
	until(t, "all goroutines parked", func() bool { return parked(probe) })
	heap1, stack1 := heap()
	runtime.KeepAlive(probe)
	per := (int64(heap1) - int64(heap0)) / hosts
	t.Logf("%d bytes of heap and %d of stacks per silent host, its pipes included", per, (int64(stack1)-int64(stack0))/hosts)
	if per > 3<<10 {
		t.Errorf("%d bytes of heap per silent host, want at most 3 KiB", per)
	}
	for _, w := range ends {
		w.Close()
	}
	for _, c := range captures {
		wait(t, c.Done(), "end")
		if c.Err() != nil {
			t.Error(c.Err())
		}
	}
	for _, l := range logs {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// parked reports whether no read buffer is in use, after every goroutine had a chance
// to run.
func parked(buf []byte) bool {
	runtime.Gosched()
	n := runtime.Stack(buf, true)
	return !bytes.Contains(buf[:n], []byte("capture.(*Capture).fill")) && !bytes.Contains(buf[:n], []byte("[runnable]"))
}
