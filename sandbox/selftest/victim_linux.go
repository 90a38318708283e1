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

// victim is a process of ours that is not to be touched from the sandbox. It
// keeps the stage's secret in its arguments, environment, memory and an open
// file.
type victim struct {
	Pid  int     `json:"pid"`
	Addr uintptr `json:"addr"` // of the secret in its memory
	FD   int     `json:"fd"`   // open on the secret file
	cmd  *exec.Cmd
	over chan struct{} // closed when it has ended
}

// victim starts one; it ends with the stage.
func (s *stage) victim() (*victim, error) {
	cmd := exec.Command(s.suite.program)
	cmd.Args = []string{partName, "victim", s.secret, s.path("outside/secret")}
	cmd.Env = append(partEnv("victim"), "SECRET="+s.secret)
	cmd.Dir = s.path(outsideDir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	leash, err := cmd.StdinPipe() // it ends when this does
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	v := &victim{cmd: cmd, over: make(chan struct{})}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, v)
	}
	go func() {
		defer close(v.over)
		_ = cmd.Wait() // how it ended is in ProcessState
	}()
	s.onClose(func() {
		leash.Close()
		_ = cmd.Process.Kill()
		<-v.over
	})
	if err != nil {
		return nil, fmt.Errorf("victim: %w", err)
	}
	s.set("victim", v.Pid)
	s.set("victim-addr", v.Addr)
	s.set("victim-fd", v.FD)
	s.set("secret-length", len(s.secret))
	s.vars["victim"] = v
	return v, nil
}

// needVictim is a prepare for attempts that need nothing else.
func needVictim(s *stage) error {
	_, err := s.victim()
	return err
}

// theVictim is what victim has made, for judges.
func (s *stage) theVictim() *victim { return s.vars["victim"].(*victim) }

// alive reports whether it is running, neither ended nor stopped.
func (v *victim) alive() (bool, string) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", v.Pid))
	if err != nil {
		return false, "it is gone"
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	switch rest[:1] {
	case "R", "S", "D":
		return true, "it goes on"
	}
	return false, "its state is " + rest[:1]
}

// unharmed is a judge: the victim must go on as if nothing had been.
func unharmed(s *stage, r *run1) finding {
	// What was sent may take a moment to arrive.
	how := ""
	if poll.Within(50*time.Millisecond, func() (hit bool) {
		hit, how = s.theVictim().alive()
		return !hit
	}) {
		return escaped("the other process: %s", how)
	}
	return held("%s", r.how())
}

// unseen is a judge: the secret must not come out.
func unseen(s *stage, r *run1) finding {
	if r.saw(s.secret) {
		return escaped("the secret came out")
	}
	return held("%s", r.how())
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
