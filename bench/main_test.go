package main

import (
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/require"
)

func TestTargets(t *testing.T) {
	for _, c := range []struct {
		target target
		met    bool
	}{
		{target{figure: 1.4, limit: 1.5}, true},
		{target{figure: 1.6, limit: 1.5}, false},
		{target{figure: 5.1, limit: 5, least: true}, true},
		{target{figure: 4.9, limit: 5, least: true}, false},
		{target{figure: math.NaN(), limit: 5}, false},
	} {
		if got := c.target.met(); got != c.met {
			t.Errorf("%+v met: %v", c.target, got)
		}
	}
}

func TestReportIsMarkdown(t *testing.T) {
	r := &report{title: "T", head: []string{"a", "b"}}
	r.row("1", "2")
	r.note("n %d", 3)
	var b strings.Builder
	r.print(&b)
	want := "## T\n\n| a   | b   |\n| --- | --- |\n| 1   | 2   |\n\n- n 3\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestChoose(t *testing.T) {
	all, err := choose([]string{"all"})
	if err != nil || len(all) != len(sections()) {
		t.Errorf("all: %d sections, %v", len(all), err)
	}
	if _, err := choose([]string{"echo", "nothing"}); err == nil {
		t.Error("chose what is none")
	}
}

// crossed answers with the payload of the call before.
type crossed struct{ last []byte }

func (c *crossed) Echo(_ context.Context, p []byte) ([]byte, error) {
	out := c.last
	c.last = append([]byte(nil), p...)
	return out, nil
}

func (c *crossed) Close() error { return nil }

func TestCallerNoticesAnAnswerOfAnotherCall(t *testing.T) {
	one := caller{c: &crossed{last: newPayload(1)}, payload: newPayload(0)}
	for range 2 {
		if err := one.call(t.Context()); err == nil {
			t.Error("took another call's answer")
		}
	}
	if n := len(one.payload); n != payloadSize {
		t.Errorf("payload of %d bytes", n)
	}
}

func TestSourceLines(t *testing.T) {
	a, b := string(sourceLine(nil, 7)), string(sourceLine(nil, 8))
	if len(a) != lineSize-1 || a == b || strings.ContainsAny(a, "\n") {
		t.Errorf("%q, %q", a, b)
	}
}

func TestChildTellsItsBirth(t *testing.T) {
	n, err := newNursery()
	if err != nil {
		require.Missing(t, "%v", err)
	}
	defer n.Close()
	before, err := monotonic()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(n.program, n.fifo)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Error("the child ended by itself")
		}
	}()
	b, err := n.next(10 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	after, err := monotonic()
	if err != nil {
		t.Fatal(err)
	}
	if b.pid != cmd.Process.Pid || b.at < before || b.at > after {
		t.Errorf("pid %d at %v, want %d between %v and %v", b.pid, b.at, cmd.Process.Pid, before, after)
	}
}

func TestPageIsRewrittenBehindItsMark(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("# Words\n\n"+mark+"\n\nold figures\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := rewrite(page, "new figures\n\n"); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(page); string(got) != "# Words\n\n"+mark+"\n\nnew figures\n" {
		t.Errorf("got %q", got)
	}
	if err := os.WriteFile(page, []byte("# Words\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := rewrite(page, "new figures"); err == nil || !strings.Contains(err.Error(), mark) {
		t.Errorf("a page without the mark: %v", err)
	}
	if got, _ := os.ReadFile(page); string(got) != "# Words\n" {
		t.Errorf("it was changed to %q", got)
	}
}
