//go:build linux

package conformance

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Side is one of the two servers that are compared.
type Side struct {
	Name   string   // of five letters on both sides, so that paths are equally long
	Argv   []string // the program and its verb; --listen and flags are added
	Base   string   // folder for both sides, which has one for each
	Home   string   // folder of the program, which is not compared
	Web    string   // URL of a [NewWeb]
	Strict bool     // notifications must come in the order of their seq

	mu     sync.Mutex // of shared
	shared *listener
	starts atomic.Int64
}

// Dir is the folder of a side.
func (s *Side) Dir() string { return filepath.Join(s.Base, s.Name) }

// Prepare makes the folders of the side.
func (s *Side) Prepare() error {
	for _, sub := range []string{"home", "state", "temp", "cwd", "play"} {
		if err := os.MkdirAll(filepath.Join(s.Dir(), sub), 0o755); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(s.Dir(), "secret"), []byte("a secret of two servers, known to all"), 0o600)
}

// Close ends the server that scenarios share, if there is one.
func (s *Side) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shared != nil {
		s.shared.close()
		s.shared = nil
	}
}

// command is a server that listens somewhere. Its environment is the same on
// both sides, and has something for every rule about what children inherit.
func (s *Side) command(listen string, flags []string) *exec.Cmd {
	argv := append(append(append([]string{}, s.Argv...), "--listen", listen), flags...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = filepath.Join(s.Dir(), "cwd")
	cmd.Env = []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + filepath.Join(s.Dir(), "home"), "TMPDIR=" + filepath.Join(s.Dir(), "temp"),
		"CODEX_HOME=" + s.state(), "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "LC_X=x", "LOGNAME=log", "USER=user",
		"USERNAME=username", "SHELL=/bin/sh", "TERM=dumb", "TZ=UTC", "EDITOR=ed", "PWD=/pwd", "MY_KEY=k", "my_secret=s", "AToken=t", "HOUSE=h", "house2=h",
	}
	// Its group ends with it; it ends with us.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// state is a folder for what a server keeps: the real one, as it starts, takes
// away what others have in theirs.
func (s *Side) state() string {
	dir := filepath.Join(s.Dir(), "state", strconv.FormatInt(s.starts.Add(1), 10))
	_ = os.Mkdir(dir, 0o755) // a server without one says so
	return dir
}

// listener is a server with a WebSocket.
type listener struct {
	cmd  *exec.Cmd
	url  string
	done chan struct{}
}

func (s *Side) listen(flags []string) (*listener, error) {
	cmd := s.command("ws://127.0.0.1:0", flags)
	var errs strings.Builder
	cmd.Stderr = &errs
	r, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	l := &listener{cmd: cmd, done: make(chan struct{})}
	lines := bufio.NewReader(r)
	line, err := lines.ReadString('\n')
	go func() {
		defer close(l.done)
		_, _ = io.Copy(io.Discard, lines)
		_ = cmd.Wait() // how it ended is nobody's business
	}()
	if err != nil {
		l.close()
		return nil, fmt.Errorf("%s does not listen: %s", s.Name, errs.String())
	}
	l.url = strings.TrimSpace(line)
	return l, nil
}

func (l *listener) close() {
	_ = l.cmd.Process.Signal(syscall.SIGTERM) // it may be gone
	finish(l.cmd, l.done, Patience/4)
}

// finish waits for the end of a server that knows that it has to, and helps
// when it takes too long.
func finish(cmd *exec.Cmd, done <-chan struct{}, within time.Duration) {
	select {
	case <-done:
	case <-time.After(within):
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-done
	}
}

// listener is the server of a scenario; stop has to be called after it.
func (s *Side) listener(c Scenario, flags []string) (l *listener, stop func(), err error) {
	if len(c.Flags) > 0 {
		l, err := s.listen(flags)
		if err != nil {
			return nil, nil, err
		}
		return l, l.close, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shared == nil {
		if s.shared, err = s.listen(nil); err != nil {
			return nil, nil, err
		}
	}
	return s.shared, func() {}, nil
}

// get makes an HTTP request to a server, with these headers and no others but
// Host, and says what came of it.
func get(ctx context.Context, url, method, path string, headers []string) (any, error) {
	host := strings.TrimPrefix(url, "ws://")
	nc, err := new(net.Dialer).DialContext(ctx, "tcp", host)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	stop := context.AfterFunc(ctx, func() { nc.Close() })
	defer stop()
	head := method + " " + path + " HTTP/1.1\r\n"
	if !slices.ContainsFunc(headers, func(h string) bool { return strings.HasPrefix(h, "Host:") }) {
		head += "Host: " + host + "\r\n"
	}
	for _, h := range headers {
		head += h + "\r\n"
	}
	if _, err := io.WriteString(nc, head+"\r\n"); err != nil {
		return nil, err
	}
	res, err := http.ReadResponse(bufio.NewReader(nc), &http.Request{Method: method})
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var body []byte
	if res.StatusCode != http.StatusSwitchingProtocols {
		if body, err = io.ReadAll(res.Body); err != nil {
			return nil, err
		}
	}
	return map[string]any{"status": res.StatusCode, "body": string(body), "accept": res.Header.Get("Sec-WebSocket-Accept")}, nil
}
