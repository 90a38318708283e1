//go:build !hostsup_posix

package grants

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// A confined process reads two orders from its stdin: what to look at, which it
// reports on its stdout, and then what to do.
type (
	order struct {
		Paths  []string
		Create []string // to be made, if that can be done
	}
	doing struct {
		Steps  []step
		Repeat bool // until it is killed
	}
)

type report struct {
	Paths   map[string]view
	Created []string // of order.Create
}

// view is what a confined process reaches at a path. The last part of the path is
// not followed but for Led and LedRead.
type view struct {
	There   bool
	ID      identity
	Mode    fs.FileMode
	Text    string
	Read    bool // a file can be opened, a folder listed
	Write   bool // a file can be opened for writing; in a folder a file can be made
	Exec    bool
	Names   []string // of a folder that can be listed
	Led     identity // what a link leads to
	LedRead bool
}

func init() { roles["probe"] = probeMain }

func probeMain() int {
	var o order
	in := json.NewDecoder(os.Stdin)
	if err := in.Decode(&o); err != nil {
		return 1
	}
	r := report{Paths: map[string]view{}}
	for _, path := range o.Paths {
		r.Paths[path] = look(path)
	}
	for _, path := range o.Create {
		if forces(path) {
			r.Created = append(r.Created, path)
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		return 1
	}
	var d doing
	if err := in.Decode(&d); err != nil {
		return 1
	}
	for done := false; !done; done = !d.Repeat {
		for _, s := range d.Steps {
			deeds[s.do](s.path, s.to)
		}
	}
	syscall.Exit(0) // os.Exit would wait for a second with the race detector
	return 0
}

// MarshalJSON and UnmarshalJSON are for a step in an order.
func (s step) MarshalJSON() ([]byte, error) { return json.Marshal([]string{s.do, s.path, s.to}) }

// UnmarshalJSON is described at MarshalJSON.
func (s *step) UnmarshalJSON(b []byte) error {
	var list [3]string
	err := json.Unmarshal(b, &list)
	s.do, s.path, s.to = list[0], list[1], list[2]
	return err
}

// look tries what can be done with path, and leaves it as it is.
func look(path string) (v view) {
	info, err := os.Lstat(path)
	if err != nil {
		return v
	}
	v.There, v.ID, v.Mode = true, idOf(info), info.Mode()
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		v.Text, _ = os.Readlink(path)
		if to, err := os.Stat(path); err == nil {
			v.Led = idOf(to)
		}
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if v.LedRead = err == nil; v.LedRead {
			unix.Close(fd)
		}
	case info.IsDir():
		entries, err := os.ReadDir(path)
		v.Read = err == nil
		for _, e := range entries {
			v.Names = append(v.Names, e.Name())
		}
		v.Write = makes(filepath.Join(path, fmt.Sprintf(".probe-%x", rand.Uint64()))) // others may move the folder, and what is made stays
	default:
		v.Read = opens(path, unix.O_RDONLY)
		v.Write = opens(path, unix.O_WRONLY)
		v.Exec = runs(path)
	}
	return v
}

func idOf(info fs.FileInfo) identity {
	st := info.Sys().(*syscall.Stat_t)
	return identity{st.Dev, st.Ino}
}

func opens(path string, how int) bool {
	fd, err := unix.Open(path, how|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	unix.Close(fd)
	return true
}

// makes reports whether a file can be made at path, and removes it again.
func makes(path string) bool {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return false
	}
	unix.Close(fd)
	_ = unix.Unlink(path)
	return true
}

// forces does what makes does, where a file is in the place of the folder too.
func forces(path string) bool {
	dir := filepath.Dir(path)
	if info, err := os.Lstat(dir); err == nil && !info.IsDir() && unix.Unlink(dir) == nil {
		_ = unix.Mkdir(dir, 0o777)
	}
	return makes(path)
}

// runs reports whether the kernel would run the file. Those of a tree are no
// programs: one that may be run is ENOEXEC.
func runs(path string) bool {
	return errors.Is(unix.Exec(path, []string{path}, nil), unix.ENOEXEC)
}

// deeds are what a step can do.
var deeds = map[string]func(path, to string){
	"rename": func(path, to string) { _ = unix.Rename(path, to) },
	"exchange": func(path, to string) {
		_ = unix.Renameat2(unix.AT_FDCWD, path, unix.AT_FDCWD, to, unix.RENAME_EXCHANGE)
	},
	"link": func(path, to string) { _ = os.Symlink(to, path) },
	"replace": func(path, to string) {
		aside := filepath.Join(filepath.Dir(path), ".aside")
		_ = unix.Rename(path, aside)
		_ = unix.Unlink(path)
		_ = os.Symlink(to, path)
	},
	"renew": func(path, _ string) {
		_ = unix.Rename(path, path+".old")
		_ = unix.Mkdir(path, 0o755)
	},
	"flatten": func(path, _ string) { // a file in the place of the folder around path
		dir := filepath.Dir(path)
		_ = os.RemoveAll(dir)
		_ = os.WriteFile(dir, []byte("made within"), 0o777)
	},
	"mkdir":  func(path, _ string) { _ = unix.Mkdir(path, 0o777) },
	"rmdir":  func(path, _ string) { _ = os.RemoveAll(path) },
	"unlink": func(path, _ string) { _ = unix.Unlink(path) },
	"create": func(path, _ string) { _ = os.WriteFile(path, []byte("made within"), 0o777) },
	"append": func(path, _ string) {
		if f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0); err == nil {
			_, _ = f.WriteString("added within")
			_ = f.Close()
		}
	},
	"hard": func(path, to string) { _ = unix.Link(path, to) },
	"chmod": func(path, mode string) {
		if n, err := strconv.ParseUint(mode, 8, 32); err == nil {
			_ = unix.Chmod(path, uint32(n))
		}
	},
}

// onGround are steps with the paths of a ground.
func onGround(ground string, steps []step) []step {
	out := slices.Clone(steps)
	for i := range out {
		s := &out[i]
		s.path = filepath.Join(ground, s.path)
		switch s.do {
		case "rename", "exchange", "hard":
			s.to = filepath.Join(ground, s.to)
		case "link", "replace":
			s.to = linkText(ground, s.to)
		}
	}
	return out
}

// quoted shows paths without the ground.
func quoted(ground, text string) string { return strings.ReplaceAll(text, ground+"/", "") }
