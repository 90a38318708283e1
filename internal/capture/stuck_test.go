package capture

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// stuck is a file on a hanging disk.
type stuck struct {
	file
	writing, release chan struct{}
}

func (f stuck) Write(b []byte) (int, error) {
	close(f.writing)
	<-f.release
	return len(b), nil
}

func (stuck) Close() error { return nil }

// While a write to the disk hangs, memory and followers must already have its lines,
// and reading them must not block.
func TestStuckDiskBlocksNoReader(t *testing.T) {
	f := stuck{writing: make(chan struct{}), release: make(chan struct{})}
	l := New(Options{Dir: t.TempDir(), Name: "x"})
	l.sink.openFile = func(string) (file, int64, error) { return f, 0, nil }
	r, w := pipe(t)
	c := l.Capture(r, Stdout, 1)
	if _, err := w.WriteString("last words\n"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	wait(t, f.writing, "the write")
	want := []string{"last words"}
	if d := cmp.Diff(want, texts(l.Tail(1))); d != "" {
		t.Errorf("Tail (-want +got)\n%s", d)
	}
	if d := cmp.Diff(want, texts(l.TailOfLife(1, 10))); d != "" {
		t.Errorf("TailOfLife (-want +got)\n%s", d)
	}
	for ln := range l.Follow(t.Context(), 1) {
		if d := cmp.Diff(want, []string{ln.Text}); d != "" {
			t.Errorf("Follow (-want +got)\n%s", d)
		}
		break
	}
	select {
	case <-c.Done():
		t.Error("done before its lines are in the file")
	default:
	}
	close(f.release)
	wait(t, c.Done(), "end of the stream")
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
