package inspector

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stops waits in two calls that stop the event loop, of which one was imported before anything is
// noted, and allocates what may be a message.
const stops = `
const { execSync } = require('child_process');
const execs = () => execSync('sleep 2');
const waits = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
const builds = () => [Buffer.allocUnsafe(3 << 20), Buffer.from('x'.repeat(2 << 20)), Buffer.from('short')];
const loads = () => { try { process.dlopen({ exports: {} }, '/ext/native.node'); } catch {} };
process.on('SIGUSR2', () => { loads(); builds(); execs(); waits(); });
setInterval(() => {}, 1000);
console.log('up');
`

// A process notes the call that stops its event loop before it does, and what it noted can be read
// after the port was closed, and after the process has ended.
func TestNotesOfAProcess(t *testing.T) {
	p := node(t, stops, "--inspect-port=0")
	l := opens(t, ports(t), p.Target)
	var notes *Notes
	note := func(ctx context.Context, s *Session) (err error) {
		if notes != nil { // the second time
			_ = notes.Close() // it was only read
		}
		notes, err = s.Note(ctx)
		return err
	}
	for range 2 {
		if err := l.Session(t.Context(), note); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = notes.Close() }) // it was only read
	releases(t, l)
	p.listens(0)
	if stack, since := notes.Blocking(); stack != "" || !since.IsZero() || notes.Large(3<<20) != "" || notes.Native() != nil {
		t.Errorf("%q since %v, %q, %q", stack, since, notes.Large(3<<20), notes.Native())
	}
	if err := p.Signal(syscall.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	for _, function := range []string{"execs", "waits"} {
		eventually(t, func() bool {
			stack, since := notes.Blocking()
			return strings.Contains(stack, "at "+function+" (") && time.Since(since) < patience
		})
	}
	for size, function := range map[int64]string{3 << 20: "builds", 3<<20 + headRoom: "builds", 2 << 20: "builds", 3<<20 - 1: "", 3<<20 + headRoom + 1: ""} {
		if stack := notes.Large(size); strings.Contains(stack, "at "+function+" (") != (function != "") {
			t.Errorf("%d bytes: %q", size, stack)
		}
	}
	if files := notes.Native(); len(files) != 0 {
		t.Errorf("%q, which could not be loaded", files)
	}
	if err := p.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	if stack, _ := notes.Blocking(); !strings.Contains(stack, "at waits (") {
		t.Errorf("%q", stack)
	}
}

// A process that cannot make a file is not asked for its notes.
func TestNotesWithoutAFile(t *testing.T) {
	p := node(t, "process.env.TMPDIR = '/nowhere/at/all';"+stops, "--inspect-port=0")
	l := opens(t, ports(t), p.Target)
	err := l.Session(t.Context(), func(ctx context.Context, s *Session) error {
		notes, err := s.Note(ctx)
		if err == nil {
			_ = notes.Close() // it was only read
		}
		return err
	})
	if err == nil || !strings.Contains(err.Error(), ErrThrown.Error()) {
		t.Errorf("%v", err)
	}
	releases(t, l)
}
