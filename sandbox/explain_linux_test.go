//go:build !hostsup_posix

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/sandbox/denial"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// explained runs a script with Explain and also returns its output.
func explained(t *testing.T, l *Launcher, p *policy.Policy, dir, script string) (needed policy.Policy, denials []denial.Denial, out string, e Exit) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	said := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(r)
		said <- string(b)
	}()
	needed, denials, e, err = Explain(t.Context(), l, Command{
		Name: "explain.1", Path: "/bin/bash", Args: []string{"bash", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: dir,
		Files: []*os.File{nil, w, w}, Policy: p,
	})
	_ = w.Close()
	if err != nil {
		t.Fatal(err)
	}
	return needed, denials, <-said, e
}

// The command works under the policy that Explain returns.
func TestExplainedPolicyIsEnough(t *testing.T) {
	l := launcherOf(t, "")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, own := range []string{filepath.Dir(dir), dir} { // the two folders of TempDir
		if err := os.Chmod(own, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"in", "other"} {
		if err := os.WriteFile(dir+"/"+name, []byte(name+" is read\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := leaktest.WriteProgram(dir+"/run.sh", []byte("#!/bin/sh\necho script ran\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir+"/work", 0o755); err != nil {
		t.Fatal(err)
	}
	addr, port := greeter(t)
	script := fmt.Sprintf("cat in; ./run.sh; echo x >work/new; cat work/new missing 2>/dev/null; rm work/new; exec 5<>/dev/tcp/127.0.0.1/%s; cat <&5; echo y >/tmp/explain-$$; rm /tmp/explain-$$; echo z 2>/dev/null >/dev/null", port)
	want := "in is read\nscript ran\nx\nhello from outside\n"
	needed, denials, out, e := explained(t, l, nil, dir, script)
	if out != want || e.Code != 0 {
		t.Fatalf("%q %+v", out, e)
	}
	if !slices.Equal(needed.Write, []string{dir + "/work"}) || !slices.Contains(needed.Read, dir+"/in") || !slices.Contains(needed.Exec, dir+"/run.sh") ||
		!slices.Equal(needed.Allow, []string{addr}) || needed.JIT || len(needed.Devices) > 0 {
		t.Errorf("%+v", needed)
	}
	for _, path := range slices.Concat(needed.Read, needed.Exec, needed.Write) {
		if path == "/" || strings.HasPrefix(path, dir+"/other") || path == dir || path == "/tmp" || path == "/usr" {
			t.Errorf("%s is more than was needed", path)
		}
	}
	if len(denials) == 0 {
		t.Error("nothing led to it")
	}
	if err := needed.Validate(policy.Limits{}); err != nil {
		t.Fatal(err)
	}
	confines(t, policy.NoCgroup)
	needed.Level = policy.NoCgroup
	out, left, e := confinedSh(t, l, Command{Policy: &needed, Dir: dir}, script)
	if out != want || e.Code != 0 {
		t.Errorf("under %+v: %q %+v %v", needed, out, e, left)
	}
}

func TestExplainUnderAPolicy(t *testing.T) {
	l := jailedLauncher(t)
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/in", []byte("in\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := strict(t)
	p.Level = policy.NoCgroup
	needed, denials, out, e := explained(t, l, p, "", "cat "+dir+"/in")
	if e.Code == 0 || !slices.ContainsFunc(denials, func(d denial.Denial) bool { return d.Path == dir+"/in" && d.Kind == denial.Read }) || !slices.Contains(needed.Read, dir+"/in") || needed.Profile != "strict" || slices.Contains(p.Read, dir+"/in") {
		t.Errorf("%+v %v %q %+v", needed, denials, out, e)
	}
}

func TestExplainEndsWithItsContext(t *testing.T) {
	l := launcherOf(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() {
		_, _ = r.Read(make([]byte, 1))
		cancel()
	}()
	_, denials, e, err := Explain(ctx, l, Command{Name: "x.1", Path: "/bin/sh", Args: []string{"sh", "-c", "echo x; while :; do :; done"}, Env: []string{"PATH=/bin"}, Files: []*os.File{nil, w}})
	_ = w.Close()
	if !errors.Is(err, context.Canceled) || e.Signal != int(syscall.SIGKILL) || len(denials) == 0 {
		t.Error(denials, e, err)
	}
	if _, _, _, err := Explain(t.Context(), l, Command{Name: "x.2", Path: "/nonexistent"}); err == nil {
		t.Error("no error, although no command was run")
	}
}

func TestInterpreters(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return dir + "/" + name
	}
	paths := func(path string) (out []string) {
		for _, d := range interpreters(path) {
			out = append(out, d.Path)
		}
		return out
	}
	inner := write("inner", "#! /bin/sh -e\n")
	if got := paths(write("outer", "#!"+inner+"\n")); len(got) < 2 || got[0] != inner || got[1] != "/bin/sh" {
		t.Error(got)
	}
	self := dir + "/self"
	if got := paths(write("self", "#!"+self)); len(got) != 4 {
		t.Error(got)
	}
	if err := syscall.Mkfifo(dir+"/pipe", 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir + "/none", dir, dir + "/pipe", write("empty", ""), write("rel", "#!sh\n"), write("text", "hello"), write("bare", "#!"),
		write("elf", "\x7fELF\x02\x01"+strings.Repeat("\xff", 100)), write("gone", "#!/nonexistent\n")} {
		if got := paths(path); got != nil {
			t.Errorf("%s: %v", path, got)
		}
	}
	sh, err := exec.LookPath("bash")
	if err != nil {
		require.Missing(t, "%v", err)
	}
	if got := paths(sh); len(got) == 0 || !strings.Contains(got[0], "ld") {
		t.Log("bash has no loader: ", got)
	}
}

func FuzzLoader(f *testing.F) {
	b, err := os.ReadFile("/bin/true")
	if err == nil && len(b) > 1024 {
		f.Add(b[:1024])
	}
	f.Add([]byte("\x7fELF\x02\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if name := elfLoader(strings.NewReader(string(b)), b[:min(len(b), 256)]); name != "" && name[0] != '/' {
			t.Fatalf("%q", name)
		}
	})
}

type nameServer map[string]string

func (n nameServer) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	if a, ok := n[host]; ok {
		return []netip.Addr{netip.MustParseAddr(a)}, nil
	}
	return nil, errors.New("no such name")
}

func TestConnectionsAreAllowedByName(t *testing.T) {
	log := denial.NewLog(0)
	for _, path := range []string{"8.8.8.8:443", "[2001:4860::1]:80", "9.9.9.9:443"} {
		log.Add(denial.Denial{Kind: denial.Connect, Path: path, Field: "allow"})
	}
	for _, name := range []string{"a.example", "b.example", "gone.example"} {
		log.Add(denial.Denial{Kind: denial.Resolve, Path: name, Field: "allow", Grant: name + ":*"})
	}
	log.Add(denial.Denial{Kind: denial.Connect, Path: "10.1.2.3:5432", Field: "allow"})
	log.Add(denial.Denial{Kind: denial.Resolve, Path: "db.example", Field: "allow", Grant: "db.example:*"})
	list := byName(t.Context(), nameServer{"db.example.": "10.1.2.3", "a.example.": "::ffff:8.8.8.8", "b.example.": "2001:4860::1"}.LookupNetIP, log.List())
	// The proxy connects a name to a private address only if the list has the address.
	if p := denial.Suggest(list); !slices.Equal(p.Allow, []string{"10.1.2.3:5432", "9.9.9.9:443", "a.example:443", "b.example:80", "db.example:5432"}) {
		t.Errorf("%q", p.Allow)
	}
	why := "db.example resolves to 10.1.2.3, a private address, which needs an entry of its own"
	if !slices.ContainsFunc(list, func(d denial.Denial) bool { return d.Grant == "10.1.2.3:5432" && d.Detail == why }) {
		t.Errorf("the reason is missing: %v", list)
	}
}
