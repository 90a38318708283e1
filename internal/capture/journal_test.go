package capture

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// memory is a Journal that takes lines while err is nil.
type memory struct {
	mu     sync.Mutex
	lines  []Line
	err    error
	report func(int, error)
}

func (m *memory) Sender(_ string, report func(int, error)) Sender {
	m.report = report
	return m
}

func (m *memory) Send(ln Line) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.lines = append(m.lines, ln)
	}
	return m.err
}

// Lines go to the journal in place of the files, and back, while the log is used.
func TestLinesToJournal(t *testing.T) {
	dir := t.TempDir()
	m := new(memory)
	l := New(Options{Dir: dir, Name: "x", Rules: Rules{Journal: true}, Journal: m, Ring: 3})
	defer l.Close()
	say(l, 7, "one\ntwo\r\n"+strings.Repeat("x", MaxLine+1)+"\n")
	for _, ln := range m.lines {
		m.report(len(ln.Text), nil)
	}
	timeless(t, m.lines)
	want := []Line{
		{Life: 7, Stream: Stdout, Text: "one"}, {Life: 7, Stream: Stdout, Text: "two"},
		{Life: 7, Stream: Stdout, Text: strings.Repeat("x", MaxLine), More: true}, {Life: 7, Stream: Stdout, Text: "x"},
	}
	if d := cmp.Diff(want, m.lines); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if len(names(t, dir)) != 0 {
		t.Errorf("files: %v", names(t, dir))
	}
	if st := l.Stats(); st != (Stats{Lines: 4, Bytes: 6 + MaxLine + 1}) {
		t.Errorf("%+v", st)
	}
	l.SetRules(Rules{})
	say(l, 7, "in a file\n")
	got, err := l.History(10)
	if err != nil || len(m.lines) != 4 || len(got) != 3 || got[2].Text != "in a file" || got[2].Seq != 5 || got[1].Seq != 4 { // the others from memory
		t.Errorf("%d lines, %v, %d lines in the journal", len(got), err, len(m.lines))
	}
	l.SetRules(Rules{Journal: true})
	say(l, 7, "not in a file\n")
	if b, err := os.ReadFile(filepath.Join(dir, "x.log")); err != nil || strings.Count(string(b), "\n") != 1 || len(m.lines) != 5 {
		t.Errorf("%q (%v)", b, err)
	}
}

// What a journal does not take is counted, and reported at its beginning and at its end, at
// most once a minute.
func TestJournalLosesLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("full")
		m := &memory{err: full}
		var failed []error
		var ended []uint64
		l := New(Options{Name: "x", Rules: Rules{Journal: true}, Journal: m,
			OnError: func(err error) { failed = append(failed, err) }, OnRecover: func(n uint64) { ended = append(ended, n) }})
		defer l.Close()
		lose := func(n int) {
			m.err = full
			for range n {
				say(l, 1, "a line\n")
			}
		}
		take := func() {
			m.err = nil
			say(l, 1, "a line\n")
			m.report(6, nil)
		}
		lose(10)
		take() // too soon to say that it is over
		if st := l.Stats(); len(failed) != 1 || !errors.Is(failed[0], full) || len(ended) != 0 || st.LostLines != 10 || st.Lines != 1 || st.Err == nil {
			t.Errorf("%v, %v, %+v", failed, ended, st)
		}
		time.Sleep(journalCalm) //nolint:forbidigo // in a synctest bubble
		take()
		if st := l.Stats(); len(ended) != 1 || ended[0] != 10 || st.Err != nil {
			t.Errorf("%v, %+v", ended, st)
		}
		for range 5 { // again and again within a minute
			lose(1)
			time.Sleep(journalCalm) //nolint:forbidigo // in a synctest bubble
			take()
		}
		if len(failed) != 1 || len(ended) != 1 {
			t.Errorf("reported %d and %d times", len(failed), len(ended))
		}
		time.Sleep(journalEvery) //nolint:forbidigo // in a synctest bubble
		lose(3)
		if st := l.Stats(); len(failed) != 2 || st.LostLines != 18 {
			t.Errorf("%v, %+v", failed, st)
		}
	})
}

// A log whose rules name a journal, where there is none, counts that too.
func TestNoJournal(t *testing.T) {
	l := New(Options{Name: "x", Rules: Rules{Journal: true}})
	defer l.Close()
	say(l, 1, "a line\n")
	if st := l.Stats(); st.LostLines != 1 || st.Err == nil || len(l.Tail(1)) != 1 {
		t.Errorf("%+v", st)
	}
}
