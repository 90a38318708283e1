//go:build !hostsup_posix

package sandbox

import (
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/sandbox/denial"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// greeter starts a server on loopback that writes a greeting.
func greeter(t *testing.T) (addr, port string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "hello from outside\n")
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-ended })
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return l.Addr().String(), port
}

// confinedSh runs a script confined and returns its output and denials.
func confinedSh(t *testing.T, l *Launcher, cmd Command, script string) (out string, denials []denial.Denial, e Exit) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Name, cmd.Path, cmd.Args = "sh.1", "/bin/bash", []string{"bash", "-c", script}
	cmd.Env = append(cmd.Env, "PATH=/usr/bin:/bin")
	cmd.Files = []*os.File{nil, w, w}
	c, err := l.Start(&cmd)
	_ = w.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Error(err)
	}
	e = wait(t, c)
	return string(b), c.Denials(), e
}

func jailedLauncher(t *testing.T) *Launcher {
	t.Helper()
	confines(t, policy.NoCgroup)
	return launcherOf(t, "")
}

func TestNetworkAllow(t *testing.T) {
	l := jailedLauncher(t)
	addr, port := greeter(t)
	other, otherPort := greeter(t)
	p := strict(t)
	p.Level = policy.NoCgroup
	p.Network, p.Allow = policy.NetworkAllow, []string{addr, "db.example:5432"}
	out, denials, e := confinedSh(t, l, Command{Policy: p}, fmt.Sprintf(`
		exec 5<>/dev/tcp/127.0.0.1/%[1]s && cat <&5
		exec 6<>/dev/tcp/127.0.0.1/3128 && printf 'CONNECT %[2]s HTTP/1.1\r\n\r\n' >&6 && cat <&6
		exec 7<>/dev/tcp/127.0.0.1/3128 && printf 'CONNECT %[3]s HTTP/1.1\r\n\r\n' >&7 && cat <&7
		(exec 8<>/dev/tcp/127.0.0.1/%[4]s) 2>&1
		echo $HTTP_PROXY $http_proxy $no_proxy
		cat /etc/hosts`, port, addr, other, otherPort))
	for _, want := range []string{
		"hello from outside\nHTTP/1.1 200", "\r\n\r\nhello from outside\nHTTP/1.1 403", other + ": not in the allow list", "Connection refused",
		"http://127.0.0.1:3128 http://127.0.0.1:3128 localhost,127.0.0.1,::1,db.example\n", "127.64.0.1 db.example\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %q (%+v)", want, out, e)
		}
	}
	if len(denials) != 1 || denials[0].Path != other || denials[0].Source != denial.Proxy || denials[0].Suggest != `allow = ["`+other+`"]` {
		t.Errorf("%+v", denials)
	}
}

// The names of the machine's /etc/hosts stay if that file is granted.
func TestNetworkAllowKeepsHosts(t *testing.T) {
	l := jailedLauncher(t)
	own, err := os.ReadFile("/etc/hosts")
	if err != nil {
		require.Missing(t, "%v", err)
	}
	p := strict(t)
	p.Level = policy.NoCgroup
	p.Read = append(p.Read, "/etc/hosts")
	p.Network, p.Allow = policy.NetworkAllow, []string{"db.example:5432", "[::1]:7", "localhost:80"}
	out, _, _ := confinedSh(t, l, Command{Policy: p}, "cat /etc/hosts; echo end")
	if out != "127.64.0.1 db.example\n"+string(own)+"end\n" {
		t.Errorf("%q", out)
	}
	if again, err := os.ReadFile("/etc/hosts"); err != nil || string(again) != string(own) {
		t.Error("the machine's own was changed", err)
	}
}

func TestObserved(t *testing.T) {
	l := jailedLauncher(t)
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/secret", []byte("secret\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := strict(t)
	p.Level = policy.NoCgroup
	script := fmt.Sprintf("cat %[1]s/secret; cat %[1]s/secret; echo x >%[1]s/new; cat /nonexistent /etc/ld.so.cache >/dev/null; touch /tmp/own; unshare -m true; echo ok", dir)
	out, denials, e := confinedSh(t, l, Command{Policy: p, Observe: true}, script)
	if !strings.Contains(out, "ok\n") || strings.Contains(out, "secret\n") {
		t.Errorf("%q %+v", out, e)
	}
	var got []string
	for _, d := range denials {
		if !d.Hint && d.Kind != denial.Syscall {
			t.Errorf("%+v", d)
		}
		got = append(got, d.String())
	}
	for _, want := range []string{
		fmt.Sprintf("read %s/secret (2 times): add to sandbox: read = [%q]", dir, dir+"/secret"), fmt.Sprintf("write %s/new: add to sandbox: write = [%q]", dir, dir), "syscall unshare",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no %q", want)
		}
	}
	if t.Failed() || len(got) > 6 {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	// The result is the same without the observer.
	again, _, _ := confinedSh(t, l, Command{Policy: p}, script)
	if again != out {
		t.Errorf("observed %q, else %q", out, again)
	}
}

func TestReachedLimitsAreReported(t *testing.T) {
	if f, _ := Probe().Feature("tasks limit"); !f.Have {
		require.Privilege(t, "a cgroup that counts tasks: %s", f.Detail)
	}
	l := launcherOf(t, "")
	const tasks = 4
	// Not bash, which retries fork for 15 seconds.
	script := "exec /bin/sh -c 'for i in 1 2 3 4 5 6 7 8; do /bin/sleep 60 >/dev/null 2>&1 & done; exit 3'"
	out, denials, e := confinedSh(t, l, Command{Limits: policy.Limits{Tasks: tasks, Enforce: policy.BestEffort}}, script)
	if !strings.Contains(out, "fork") {
		t.Fatalf("tasks are not limited: %q %+v", out, e)
	}
	if len(denials) != 1 || denials[0].Kind != denial.Limit || denials[0].Path != "tasks" || denials[0].Count == 0 || denials[0].Source != denial.Cgroup {
		t.Errorf("%+v", denials)
	}
}

// Without mounts the observer reports the same, and Landlock refuses.
func TestObservedByLandlockAlone(t *testing.T) {
	confines(t, policy.Landlock)
	l, err := NewLauncher(Options{Strongest: policy.Landlock})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/secret", []byte("the secret\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := strict(t)
	p.Level = policy.Landlock
	out, denials, _ := confinedSh(t, l, Command{Policy: p, Observe: true}, "cat "+dir+"/secret; unshare -m true; echo ok")
	if !strings.HasSuffix(out, "ok\n") || strings.Contains(out, "the secret") {
		t.Errorf("%q", out)
	}
	for _, want := range []denial.Denial{{Kind: denial.Read, Path: dir + "/secret"}, {Kind: denial.Syscall, Path: "unshare"}} {
		if !slices.ContainsFunc(denials, func(d denial.Denial) bool { return d.Kind == want.Kind && d.Path == want.Path }) {
			t.Errorf("no %v in %v", want, denials)
		}
	}
}

// Many observed processes start, fork and are killed at once.
func TestManyObserved(t *testing.T) {
	l := jailedLauncher(t)
	p := strict(t)
	p.Level = policy.NoCgroup
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			c, err := l.Start(&Command{Name: fmt.Sprintf("many.%d", i), Path: "/bin/sh", Policy: p, Observe: true,
				Args: []string{"sh", "-c", "while :; do (cat /etc/shadow /etc/passwd; :) & cat /nonexistent; done"}, Env: []string{"PATH=/usr/bin:/bin"}})
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Release()
			if !eventually(func() bool { return len(c.Denials()) >= 2 }) {
				t.Errorf("%v", c.Denials())
			}
			if err := c.KillTree(); err != nil {
				t.Error(err)
			}
			wait(t, c)
		})
	}
	wg.Wait()
}
