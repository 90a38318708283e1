//go:build unix

package execserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
)

// peerCommand runs commands as package os/exec does.
func peerCommand(t *testing.T, c *Client) {
	ctx := t.Context()
	sh := func(script string) *Cmd { return c.Command(ctx, "/bin/sh", "-c", script) }

	out, err := sh("echo out; echo err >&2").Output()
	if err != nil || string(out) != "out\n" {
		t.Errorf("%q %v", out, err)
	}
	var exit *ExitError
	if _, err = sh("echo why >&2; exit 3").Output(); !errors.As(err, &exit) || exit.ExitCode() != 3 || string(exit.Stderr) != "why\n" {
		t.Errorf("%+v %v", exit, err)
	}
	is(t, err.Error(), "exit status 3")
	if out, err = sh("echo a; sleep 0.1; echo b >&2").CombinedOutput(); err != nil || string(out) != "a\nb\n" {
		t.Errorf("%q %v", out, err)
	}
	if err := sh("kill -9 $$").Run(); !errors.As(err, &exit) || exit.Code != 137 {
		t.Error(err)
	}

	// The folder and the environment.
	dir := t.TempDir()
	cmd := sh("pwd; echo $HOSTSUP_T; test -z \"$HOME\" && echo alone")
	cmd.Dir, cmd.Env = dir, []string{"HOSTSUP_T=1", "HOSTSUP_T=2"}
	if out, err := cmd.Output(); err != nil || string(out) != dir+"\n2\nalone\n" {
		t.Errorf("%q %v", out, err)
	}
	if out, err := sh("echo $PATH").Output(); err != nil || len(out) < 5 {
		t.Errorf("the environment of the server: %q %v", out, err)
	}
	cmd = sh("")
	cmd.Env = []string{"nonsense"}
	if err := cmd.Run(); err == nil || !strings.Contains(err.Error(), `"nonsense": expected NAME=VALUE`) {
		t.Error(err)
	}

	// What is missing, or may not be run.
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		cmd *Cmd
		is  error
	}{
		"no such program in PATH": {c.Command(ctx, "hostsup-no-such"), fs.ErrNotExist},
		"no such file":            {c.Command(ctx, "/no/such"), fs.ErrNotExist},
		"no such folder":          {&Cmd{Path: "/bin/true", Dir: "/no/such", c: c, ctx: ctx}, fs.ErrNotExist},
		"not executable":          {c.Command(ctx, plain), fs.ErrPermission},
	} {
		if err := test.cmd.Run(); !errors.Is(err, test.is) {
			t.Errorf("%s: %v", name, err)
		}
	}

	// Pipes: the one that is not read yet holds up nothing.
	cmd = sh(`head -c 3000000 /dev/zero; echo done >&2; read line; echo "$line" >&2`)
	stdin, _ := cmd.StdinPipe()
	stdout, _ := cmd.StdoutPipe()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	zeros := make(chan int64, 1)
	go func() {
		n, err := io.Copy(io.Discard, stdout)
		if err != nil {
			t.Error(err)
		}
		zeros <- n
	}()
	line := make([]byte, 5)
	if _, err := io.ReadFull(stderr, line); err != nil || string(line) != "done\n" {
		t.Errorf("%q %v", line, err)
	}
	if _, err := io.WriteString(stdin, "typed\n"); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if rest, err := io.ReadAll(stderr); err != nil || string(rest) != "typed\n" { // after Wait
		t.Errorf("%q %v", rest, err)
	}
	if n := <-zeros; n != 3_000_000 {
		t.Errorf("%d bytes", n)
	}

	// Standard input, where its end can be told.
	cmd = c.Command(ctx, "cat")
	cmd.Stdin = strings.NewReader("as it is")
	out, err = cmd.Output()
	if c.Has(wire.ExtProcessCloseStdin) {
		if err != nil || string(out) != "as it is" {
			t.Errorf("%q %v", out, err)
		}
	} else if !errors.Is(err, ErrNoExtension) {
		t.Error(err)
	}

	// A terminal.
	cmd = sh("test -t 1 && stty size")
	cmd.TTY, cmd.Size = true, &wire.TerminalSize{Rows: 30, Cols: 90}
	want := "24 80\r\n"
	if c.Has(wire.ExtProcessResize) {
		want = "30 90\r\n"
	}
	if out, err := cmd.Output(); err != nil || string(out) != want {
		t.Errorf("%q %v", out, err)
	}

	cmd = sh("read line; cat; echo got $line")
	cmd.TTY, cmd.Stdin = true, strings.NewReader("typed\n")
	if out, err := cmd.Output(); err != nil || !strings.HasSuffix(string(out), "got typed\r\n") {
		t.Errorf("%q %v", out, err)
	}

	peerCancel(t, c)
}

// peerCancel ends commands before they end by themselves.
func peerCancel(t *testing.T, c *Client) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cmd := c.Command(ctx, "/bin/sh", "-c", "echo ready; sleep 1000")
	ready := &firstWrite{f: func() { cancel(io.ErrNoProgress) }}
	cmd.Stdout = ready
	var exit *ExitError
	if err := cmd.Run(); !errors.Is(err, io.ErrNoProgress) || !errors.As(err, &exit) || exit.Code != 137 {
		t.Error(err)
	}
	if err := c.Command(ctx, "true").Run(); !errors.Is(err, io.ErrNoProgress) {
		t.Error(err)
	}

	// Cancel decides how.
	ctx, cancel = context.WithCancelCause(t.Context())
	cmd = c.Command(ctx, "/bin/sh", "-c", "trap 'exit 7' INT; echo ready; while :; do sleep 0.05; done")
	cmd.Stdout = &firstWrite{f: func() { cancel(nil) }}
	cmd.Cancel = func() error { return cmd.Process.Interrupt(t.Context()) }
	if err := cmd.Run(); !errors.Is(err, context.Canceled) || !errors.As(err, &exit) || exit.Code != 7 {
		t.Error(err)
	}

	// A writer that fails ends the command, as a broken pipe does.
	cmd = c.Command(t.Context(), "yes")
	cmd.Stdout = &firstWrite{err: io.ErrShortWrite}
	if err := cmd.Run(); !errors.Is(err, io.ErrShortWrite) || !errors.As(err, &exit) {
		t.Error(err)
	}

	// What is left with the output open is waited for no longer than WaitDelay.
	cmd = c.Command(t.Context(), "/bin/sh", "-c", "sleep 1000 & echo $!; exit 0")
	cmd.WaitDelay = 100 * time.Millisecond
	out, err := cmd.Output()
	if !errors.Is(err, ErrWaitDelay) || len(out) == 0 {
		t.Errorf("%q %v", out, err)
	}
	_, _ = cmd.Process.Terminate(t.Context(), 0) // ends what is left
}

// firstWrite calls f at the first write, and fails with err.
type firstWrite struct {
	f    func()
	err  error
	seen bool
}

func (w *firstWrite) Write(p []byte) (int, error) {
	if !w.seen && w.f != nil {
		w.f()
	}
	w.seen = true
	return len(p), w.err
}

func TestCmdMisuse(t *testing.T) {
	c := New(Unix{Path: "/no/such"}, Options{Retry: Retry{For: -1}})
	defer c.Close()
	cmd := c.Command(t.Context(), "a", "b c")
	is(t, cmd.String(), "a b c")
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pipe.Read(make([]byte, 1)); !errors.Is(err, errNotStarted) {
		t.Error(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("waited for what was not started")
	}
	if err := cmd.Start(); !errors.Is(err, ErrConnect) || !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := cmd.Start(); err == nil {
		t.Error("started twice")
	}
	if _, err := cmd.StderrPipe(); err == nil {
		t.Error("a pipe after the start")
	}
	cmd = c.Command(t.Context(), "a")
	cmd.Stdout = io.Discard
	if _, err := cmd.Output(); err == nil {
		t.Error("Output with Stdout set")
	}
	if _, err := cmd.StdoutPipe(); err == nil {
		t.Error("StdoutPipe with Stdout set")
	}
}

func TestEnds(t *testing.T) {
	var e ends
	text := bytes.Repeat([]byte("0123456789"), 10_000)
	for part := range bytes.Lines(bytes.ReplaceAll(text, []byte("9"), []byte("\n"))) {
		if n, err := e.Write(part); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	got := string(e.bytes())
	if note := fmt.Sprintf("\n... omitting %d bytes ...\n", len(text)-2*endsSize); len(got) != 2*endsSize+len(note) || strings.Index(got, note) != endsSize {
		t.Errorf("%d bytes", len(got))
	}
	e = ends{}
	_, _ = e.Write([]byte("short"))
	is(t, string(e.bytes()), "short")
}
