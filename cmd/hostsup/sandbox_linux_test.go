package main

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// A confined command gets the terminal, and an interrupt that is typed there reaches
// it, although it is in a session of its own.
func TestSandboxTerminal(t *testing.T) {
	if m := sandbox.Probe(); !m.Level.AtLeast(policy.NoCgroup) {
		require.Missing(t, "confinement in namespaces: this machine has level %s", m.Level)
	}
	other, tty := terminal(t, 80)
	self, err := exec.LookPath("hostsup") // installed by testscript.Main
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "sandbox", "run", "--profile", "strict", "--", "sh", "-c",
		`trap "echo interrupted; exit 7" INT; trap "echo resized" WINCH; test -t 0 && test -t 1 && test -t 2 && echo terminal; read word; echo "got $word"; while :; do sleep 0.02; done`)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })

	lines := make(chan string)
	go func() { // ends when the terminal is closed
		defer close(lines)
		for in := bufio.NewScanner(other); in.Scan(); {
			lines <- strings.TrimRight(in.Text(), "\r")
		}
	}()
	late := time.After(time.Minute)
	expect := func(want string) {
		t.Helper()
		for {
			select {
			case line, ok := <-lines:
				if !ok {
					t.Fatalf("the terminal is closed; want %q", want)
				}
				if strings.HasSuffix(line, want) { // typed text is echoed in front
					return
				}
			case <-late:
				t.Fatalf("%q does not come", want)
			}
		}
	}
	typed := func(text string) {
		t.Helper()
		if _, err := other.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	expect("terminal")
	typed("hello\n")
	expect("got hello")
	if err := cmd.Process.Signal(syscall.SIGWINCH); err != nil {
		t.Fatal(err)
	}
	expect("resized")
	typed("\x03")
	expect("interrupted")
	if err := tty.Close(); err != nil {
		t.Fatal(err)
	}
	for open := true; open; { // the reader ends with the last of the terminal
		select {
		case _, open = <-lines:
		case <-late:
			t.Fatal("the terminal is still in use")
		}
	}
	if err := <-ended; cmd.ProcessState.ExitCode() != 7 {
		t.Error(err)
	}
}

// Killing this program must end everything that runs confined.
func TestSandboxKilled(t *testing.T) {
	if m := sandbox.Probe(); !m.Level.AtLeast(policy.NoCgroup) {
		require.Missing(t, "confinement in namespaces: this machine has level %s", m.Level)
	}
	self, err := exec.LookPath("hostsup")
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command(self, "sandbox", "run", "--profile", "strict", "--", "sh", "-c",
		`trap "" TERM HUP INT; (setsid sh -c 'trap "" TERM; echo up; while :; do sleep 0.1; done' &); while :; do sleep 0.1; done`)
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	in := bufio.NewReader(r)
	if line, err := in.ReadString('\n'); line != "up\n" {
		t.Fatal(line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	if err := r.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := in.ReadByte(); err == nil || os.IsTimeout(err) { // it ends when no process has it open for writing
		t.Errorf("something is left: %v", err)
	}
}
