//go:build !hostsup_posix

package sandbox

import (
	"os"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// What is granted in a folder that is closed to strangers can be reached, and
// nothing else there can be seen; also of what lies around it,
// and where something in it is denied.
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
