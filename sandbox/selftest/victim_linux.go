//go:build !hostsup_posix

package selftest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/hostsup/hostsup/internal/poll"
)

// victim is a process of ours that is not to be touched from the sandbox. It keeps the stage's secret in its arguments,
// environment, memory and an open file.
type victim struct {
	Pid  int     `json:"pid"`
	Addr uintptr `json:"addr"` // of the secret in its memory
	FD   int     `json:"fd"`   // open on the secret file
}

// needVictim is a prepare that starts a victim, which ends with the stage.
func needVictim(s *stage) {
	cmd := exec.Command(s.suite.program)
	cmd.Args = []string{partName, "victim", s.secret, s.path(secretFile)}
	cmd.Env = append(partEnv("victim"), "SECRET="+s.secret)
	cmd.Dir = s.path(outsideDir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	leash := must(cmd.StdinPipe()) // it ends when this does
	out := must(cmd.StdoutPipe())
	check(cmd.Start())
	over := make(chan struct{})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	go func() {
		defer close(over)
		_ = cmd.Wait() // it has ended by then, or is killed
	}()
	s.onClose(func() {
		leash.Close()
		_ = cmd.Process.Kill()
		<-over
	})
	check(failed("victim", err))
	s.victim = &victim{}
	check(json.Unmarshal(line, s.victim))
	s.set("victim", s.victim.Pid)
	s.set("memory", s.victim.Addr)
	s.set("descriptor", s.victim.FD)
	s.set("length", len(s.secret))
}

// alive reports whether it is running, neither ended nor stopped.
func (v *victim) alive() (bool, string) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", v.Pid))
	if err != nil {
		return false, "it is gone"
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return strings.Contains("RSD", rest[:1]), "its state is " + rest[:1]
}

// unharmed is a judge: the victim must go on as if nothing had been.
func unharmed(s *stage, r *trial) finding {
	how := ""
	// What was sent may take a moment to arrive.
	hit := poll.Within(s.patience(50*time.Millisecond), func() (hit bool) {
		hit, how = s.victim.alive()
		return !hit
	})
	return r.out(hit, "the other process: %s", how)
}

// status is a field of /proc/PID/status.
func status(pid int, field string) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return err.Error()
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.Join(strings.Fields(rest), " ")
		}
	}
	return "none"
}

// partVictim waits for its end with a secret in all its pockets.
func partVictim(args []string) int {
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE)
	if len(args) != 2 {
		return 2
	}
	f, err := os.Open(args[1])
	if err != nil {
		return 2
	}
	secret := []byte(args[0])
	v := victim{Pid: os.Getpid(), Addr: uintptr(unsafe.Pointer(&secret[0])), FD: int(f.Fd())}
	if json.NewEncoder(os.Stdout).Encode(v) != nil {
		return 1
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	fmt.Fprintln(os.Stderr, len(secret), f.Name()) // both are still needed here
	return 0
}
