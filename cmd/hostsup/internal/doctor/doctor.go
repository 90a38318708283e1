// Package doctor looks at what a supervisor needs of the machine and of its user, and
// says what to do about what is missing. It changes nothing: a folder that is missing is
// not made, a socket is not bound.
package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// Sandbox says which level of confinement the machine enforces, and whether limits are
// enforced by a cgroup.
func Sandbox(m *sandbox.Machine) []show.Check {
	level := show.Check{Name: "sandbox", Verdict: show.OK, Detail: "level " + string(m.Level)}
	if m.Level != policy.Full {
		level.Verdict = show.Warning
		level.Advice = "hostsup sandbox doctor shows what is missing; a host whose sandbox asks for more does not start"
	}
	out := []show.Check{level}
	for _, f := range m.Features {
		if !strings.HasSuffix(f.Name, " limit") {
			continue
		}
		c := show.Check{Name: f.Name, Verdict: show.OK, Detail: cmp.Or(f.Detail, "enforced")}
		if !f.Have {
			c.Verdict, c.Advice = show.Warning, cmp.Or(f.Advice, "delegate a cgroup to this user: Delegate=yes in a unit of systemd")
		}
		out = append(out, c)
	}
	return out
}

// Folder says whether files can be made in a folder, or the folder can be made, and
// whether there is room.
func Folder(name, path string) show.Check {
	at, err := existing(path)
	switch {
	case err != nil:
		return show.Check{Name: name, Verdict: show.Fault, Detail: err.Error(), Advice: "name another folder"}
	case !writable(at):
		return show.Check{Name: name, Verdict: show.Fault, Detail: fmt.Sprintf("%s cannot be written in %s", path, at), Advice: "give this user the right to write there, or name another folder"}
	}
	c := show.Check{Name: name, Verdict: show.OK, Detail: path}
	if at != filepath.Clean(path) {
		c.Detail += " will be made"
	}
	if free, ok := room(at); ok {
		c.Detail += fmt.Sprintf(", %s free", show.Bytes(free))
		if free < leastRoom {
			c.Verdict, c.Advice = show.Warning, "make room: logs and crash reports are kept there, and are lost on a full disk"
		}
	}
	return c
}

// leastRoom is how many free bytes are enough for logs and crash reports of a while.
const leastRoom = 100 << 20

// existing returns the path, or the nearest folder above it that exists.
func existing(path string) (string, error) {
	for path = filepath.Clean(path); ; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		switch {
		case err == nil && !info.IsDir():
			return "", fmt.Errorf("%s is no folder", path)
		case err == nil:
			return path, nil
		case !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path):
			return "", err
		}
	}
}

// File says whether others can write a file that says what is run.
func File(name, path string) show.Check {
	path, err := filepath.Abs(path)
	if err != nil {
		return show.Check{Name: name, Verdict: show.Fault, Detail: err.Error()}
	}
	for at := path; ; at = filepath.Dir(at) {
		if who := writers(at); who != "" {
			return show.Check{
				Name: name, Verdict: show.Warning, Detail: fmt.Sprintf("%s can write %s, and so decide what runs as this user", who, at),
				Advice: "chmod go-w " + at,
			}
		}
		if at == filepath.Dir(at) {
			return show.Check{Name: name, Verdict: show.OK, Detail: path}
		}
	}
}
