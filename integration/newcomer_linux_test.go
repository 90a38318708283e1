package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// compileWithin bounds a go run on a machine that has compiled nothing of this yet.
const compileWithin = 8 * time.Minute

// TestNewcomer goes the way of somebody who has just got the source: go run ./cmd/hostsup
// run in a clean folder, a call, a host that is killed, and what is seen of that: by the
// command line, and by the console's URL with its token.
func TestNewcomer(t *testing.T) {
	t.Parallel()
	repo, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := place(t, os.Getuid())
	tree := filepath.Join(dir, "hostsup")
	copySource(t, repo, tree)
	// Two supervisors of one user need a state folder each, and there may be another one.
	config, err := os.OpenFile(filepath.Join(tree, "config.hcl"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = config.WriteString("\nsupervisor {\n  state_dir = \"" + dir + "/state\"\n  console {\n    listen = \"127.0.0.1:0\"\n  }\n}\n")
	}
	if err == nil {
		err = config.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	goSettings(t, dir)
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "HOSTSUP_SOCKET=" + dir + "/control"}
	command := func(ctx context.Context, name string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir, cmd.Env = tree, env
		return cmd
	}

	long, cancel := context.WithTimeout(context.Background(), compileWithin)
	t.Cleanup(cancel)
	run := command(long, "go", "run", "./cmd/hostsup", "run")
	out := &printing{}
	run.Stdout, run.Stderr = out, out
	run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	run.Cancel = func() error { return syscall.Kill(-run.Process.Pid, syscall.SIGKILL) }
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	t.Cleanup(func() { cancel(); _ = syscall.Kill(-run.Process.Pid, syscall.SIGKILL) })
	if !poll.Within(compileWithin, func() bool { return strings.Contains(out.String(), "hostsup: ready") || len(ended) > 0 }) || len(ended) > 0 {
		t.Fatalf("go run ./cmd/hostsup run has not become ready:\n%s", out)
	}

	if text, err := command(long, "go", "build", "-o", "hostsup", "./cmd/hostsup").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	hostsup := func(args ...string) string {
		t.Helper()
		text, err := command(ctx(t), "./hostsup", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("hostsup %s: %v: %s", strings.Join(args, " "), err, text)
		}
		return string(text)
	}
	hostsup("status", "--check")
	if got := hostsup("call", "math", "add", "[20, 22]"); got != "42\n" {
		t.Errorf("%q", got)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(hostsup("status", "math", "--pid")))
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		t.Fatal(err)
	}

	// What everybody sees of it. A page that shows the same is looked at with this URL.
	page := newConsole(t, strings.TrimSpace(hostsup("console")))
	eventually(t, func() bool {
		var st supervisor.Status
		page.get(t, "/v1/status", &st)
		for _, h := range st.Hosts {
			if h.Name == "math" {
				return h.State == lifecycle.Running && h.Life == 2 && h.LastExit != nil && h.LastExit.Signal != nil && *h.LastExit.Signal == "SIGKILL"
			}
		}
		return false
	})
	if got := hostsup("status"); !strings.Contains(got, "ready; crash 1 of 3") {
		t.Errorf("hostsup status shows no crash:\n%s", got)
	}
	if got := hostsup("events"); !strings.Contains(got, "killed by SIGKILL (pid "+strconv.Itoa(pid)) {
		t.Errorf("hostsup events shows no crash:\n%s", got)
	}
	if got := hostsup("crashes", "math"); !strings.Contains(got, "SIGKILL") {
		t.Errorf("hostsup crashes shows no crash:\n%s", got)
	}

	// Ctrl-C.
	if err := syscall.Kill(-run.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended: // the code is that of the go command, which the signal reached as well
	case <-ctx(t).Done():
		t.Errorf("it has not ended:\n%s", out)
	}
	if strings.Contains(out.String(), "panic:") || !strings.Contains(out.String(), "stopping: signal=interrupt") {
		t.Errorf("it printed\n%s", out)
	}
}

// consolePage is the console as a browser has it: the URL, and the token behind its #.
type consolePage struct{ url, token string }

func newConsole(t *testing.T, url string) *consolePage {
	t.Helper()
	base, token, ok := strings.Cut(url, "/#token=")
	if !ok || !strings.HasPrefix(base, "http://127.0.0.1:") {
		t.Fatalf("hostsup console prints %q", url)
	}
	return &consolePage{base, token}
}

// get reads a JSON document.
func (c *consolePage) get(t *testing.T, path string, into any) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx(t), http.MethodGet, c.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %s", path, res.Status, text)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v: %s", path, err, text)
	}
}

// copySource copies what go run needs of the source.
func copySource(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && rel != "." && (d.Name()[0] == '.' || d.Name() == "testdata" || d.Name() == "bench"):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case !d.Type().IsRegular() || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return leaktest.WriteProgram(filepath.Join(to, rel), text, info.Mode().Perm())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// printing collects what a program prints while it runs.
type printing struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *printing) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *printing) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}
