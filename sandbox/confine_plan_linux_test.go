//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// A grant in a folder that other users may not search can be reached, and nothing else
// there is visible, also around the grant, and if a path in it is denied.
func TestConfinedInAClosedFolder(t *testing.T) {
	l := jailedLauncher(t)
	if os.Geteuid() != 0 {
		t.Skip("a command that runs as this user enters what this user can")
	}
	dir := t.TempDir()
	for _, d := range []string{"/home/shut/deep/work", "/home/shut/bin"} {
		if err := os.MkdirAll(dir+d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"/home/shut/secret", "/home/shut/deep/note", "/home/shut/bin/tool", "/home/shut/deep/work/own"} {
		if err := os.WriteFile(dir+f, []byte("text of "+f+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir+"/home/shut", 0o700); err != nil {
		t.Fatal(err)
	}
	p := strict(t)
	p.Read = append(p.Read, dir+"/home")
	p.Exec = append(p.Exec, dir+"/home/shut/bin")
	p.Write = append(p.Write, dir+"/home/shut/deep/work")
	p.Deny = append(p.Deny, dir+"/home/shut/secret", dir+"/home/shut/deep/work/denied", dir+"/home/shut/nowhere/x")
	p.Level = policy.NoCgroup
	out, _, _ := confinedSh(t, l, Command{Policy: p}, `
		cd `+dir+`/home/shut || exit
		ls; ls deep bin
		cat secret deep/note bin/tool deep/work/own
		echo new >deep/work/made
		for f in . deep bin deep/work/denied; do echo x >$f/q; done
		mv deep moved; mkdir fresh
		exit 0`)
	for _, want := range []string{"bin\ndeep\n", "deep:\nwork\n", "bin:\ntool\n", "text of /home/shut/bin/tool\n", "text of /home/shut/deep/work/own\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "text of /home/shut/secret") || strings.Contains(out, "text of /home/shut/deep/note") {
		t.Errorf("it has seen too much:\n%s", out)
	}
	if b, err := os.ReadFile(dir + "/home/shut/deep/work/made"); err != nil || string(b) != "new\n" {
		t.Errorf("%q, %v", b, err)
	}
	for _, f := range []string{"/q", "/deep/q", "/bin/q", "/moved", "/fresh"} {
		if _, err := os.Lstat(dir + "/home/shut" + f); err == nil {
			t.Errorf("there is a %s", f)
		}
	}
}

// A denied path in a folder that the command may not search stays denied and does not
// prevent the start, whoever owns the folder, and even if the command has closed it
// itself.
func TestDeniedInAClosedFolder(t *testing.T) {
	l := jailedLauncher(t)
	if os.Geteuid() != 0 {
		t.Skip("what this user may not look at is refused")
	}
	const owner = 12345
	for name, c := range map[string]struct {
		write    bool
		uid, own int // owners of the granted folder, and of the closed one in it
		mode     os.FileMode
	}{
		"read":                          {false, 0, 0, 0o700},
		"read, of its owner":            {false, owner, owner, 0o700},
		"written, of another owner":     {true, owner, 0, 0o700},
		"closed by a process before it": {true, owner, owner, 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := ground(t)
			write(t, dir+"/p/shut/key", "secret\n")
			write(t, dir+"/p/shut/fixed", "fixed\n")
			write(t, dir+"/p/open", "open\n")
			p := strict(t)
			p.Deny = []string{dir + "/p/shut/key", dir + "/p/shut/missing"}
			p.ReadOnly = []string{dir + "/p/shut/fixed"}
			p.Read = append(p.Read, dir+"/p")
			if c.write {
				p.Write = []string{dir + "/p"}
			}
			if err := errors.Join(os.Chown(dir+"/p", c.uid, c.uid), os.Chown(dir+"/p/shut", c.own, c.own), os.Chmod(dir+"/p/shut", c.mode)); err != nil {
				t.Fatal(err)
			}
			out, _ := output(t, l, p, `
try() { if (eval "$2") >/dev/null 2>&1; then echo "$1: yes"; else echo "$1: no"; fi; }
try open    "cat $1/p/open"
try key     "chmod 755 $1/p/shut; cat $1/p/shut/key"
try missing "echo x > $1/p/shut/missing"
try fixed   "grep fixed $1/p/shut/fixed"
try change  "echo x >>$1/p/shut/fixed"
try away    "mv $1/p/shut $1/p/other"
`, dir)
			want := map[string]string{"open": "yes"}
			if c.write && c.uid == c.own {
				want["fixed"] = "yes" // the command has opened its folder
			}
			tried(t, out, 6, want)
			if _, err := os.Lstat(dir + "/p/shut/missing"); !eventually(func() bool { _, err = os.Lstat(dir + "/p/shut/missing"); return errors.Is(err, os.ErrNotExist) }) {
				t.Errorf("the placeholder of a missing file is left: %v", err)
			}
		})
	}
}

// A granted folder with another owner than its granted parent is mapped to the
// command's user, as if it were granted alone.
func TestGrantsOfSeveralOwners(t *testing.T) {
	l := jailedLauncher(t)
	if os.Geteuid() != 0 {
		t.Skip("only root makes files of others")
	}
	const owner = 12345
	dir := ground(t)
	write(t, dir+"/p/theirs/private/file", "theirs\n")
	for _, f := range []string{"/p/theirs", "/p/theirs/private", "/p/theirs/private/file"} {
		if err := os.Chown(dir+f, owner, owner); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir+"/p/theirs/private", 0o700); err != nil {
		t.Fatal(err)
	}
	for name, list := range map[string]func(p *policy.Policy) *[]string{
		"read":  func(p *policy.Policy) *[]string { return &p.Read },
		"write": func(p *policy.Policy) *[]string { return &p.Write },
	} {
		p := strict(t)
		at := list(p)
		*at = append(*at, dir+"/p", dir+"/p/theirs")
		if out, _ := output(t, l, p, `cat $1/p/theirs/private/file`, dir); out != "theirs\n" {
			t.Errorf("%s: %q", name, out)
		}
	}
}
