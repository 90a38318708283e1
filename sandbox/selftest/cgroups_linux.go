//go:build !hostsup_posix

package selftest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hostsup/hostsup/internal/poll"
)

// groups are attempts on cgroup files. The cgroups are made for the purpose, by
// root, and every user may write to them.
func groups() []*attempt {
	// open makes a cgroup's files writable for all.
	open := func(dir string, files ...string) {
		_ = os.Chmod(dir, 0o777)
		for _, f := range files {
			_ = os.Chmod(filepath.Join(dir, f), 0o666)
		}
	}
	// unified makes a v2 cgroup of the stage's own.
	unified := func(s *stage) (string, error) {
		for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
			if _, err := os.Stat(root + "/cgroup.subtree_control"); err != nil {
				continue
			}
			dir := root + "/hostsup-selftest-" + s.mark
			if err := os.Mkdir(dir, 0o777); err != nil {
				return "", missing("a v2 cgroup that may be written: " + err.Error())
			}
			s.onClose(func() {
				poll.Within(2*time.Second, func() bool { return unix.Rmdir(dir) == nil })
			})
			open(dir, "cgroup.procs", "cgroup.kill", "cgroup.freeze")
			s.set("group", dir)
			return dir, nil
		}
		return "", missing("a v2 cgroup tree")
	}
	withVictim := func(s *stage) error {
		dir := must(unified(s))
		v := must(s.victim())
		return os.WriteFile(dir+"/cgroup.procs", fmt.Append(nil, v.Pid), 0)
	}
	return []*attempt{
		{
			class: Cgroups, name: "leave", about: "move itself to another cgroup, out of its limits and out of reach",
			prepare: func(s *stage) error { _, err := unified(s); return err },
			do: func(in *inside) error {
				err := put(in.get("group")+"/cgroup.procs", "0", 0)
				in.pause()
				return err
			},
			watch: func(s *stage, r *run1) {
				b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", r.p.pid))
				s.vars["left"] = strings.Contains(string(b), s.mark)
			},
			judge: func(s *stage, r *run1) finding {
				if s.vars["left"] == true {
					return escaped("it is in another cgroup")
				}
				return held("%s", r.how())
			},
		},
		{
			class: Cgroups, name: "make", about: "make a cgroup",
			prepare: func(s *stage) error {
				dir, err := unified(s)
				if err == nil {
					s.onClose(func() { _ = unix.Rmdir(dir + "/below") })
				}
				return err
			},
			do: func(in *inside) error { return os.Mkdir(in.get("group")+"/below", 0o777) },
			judge: func(s *stage, r *run1) finding {
				if _, err := os.Stat(s.params["group"] + "/below"); err == nil {
					return escaped("it is there")
				}
				return held("%s", r.how())
			},
		},
		{
			class: Cgroups, name: "kill", about: "kill another cgroup", prepare: withVictim, judge: unharmed,
			do: func(in *inside) error { return put(in.get("group")+"/cgroup.kill", "1", 0) },
		},
		{
			class: Cgroups, name: "freeze", about: "freeze another cgroup", prepare: withVictim,
			do: func(in *inside) error { return put(in.get("group")+"/cgroup.freeze", "1", 0) },
			judge: func(s *stage, r *run1) finding {
				b, err := os.ReadFile(s.params["group"] + "/cgroup.freeze")
				if err != nil || strings.TrimSpace(string(b)) != "0" {
					return escaped("cgroup.freeze is %q", b)
				}
				return held("%s", r.how())
			},
		},
		{
			class: Cgroups, name: "raise", about: "raise the limit of another cgroup",
			prepare: func(s *stage) error {
				const file = "pids.max"
				dir := "/sys/fs/cgroup/pids/hostsup-selftest-" + s.mark
				if err := os.Mkdir(dir, 0o777); err != nil {
					dir = must(unified(s))
				} else {
					s.onClose(func() { _ = unix.Rmdir(dir) })
				}
				if err := os.WriteFile(dir+"/"+file, []byte("10"), 0); err != nil {
					return missing("a cgroup that limits tasks")
				}
				open(dir, file)
				s.set("limit", dir+"/"+file)
				return nil
			},
			do: func(in *inside) error { return put(in.get("limit"), "max", 0) },
			judge: func(s *stage, r *run1) finding {
				b, err := os.ReadFile(s.params["limit"])
				if err != nil || strings.TrimSpace(string(b)) != "10" {
					return escaped("the limit was 10 and is %s", b)
				}
				return held("%s", r.how())
			},
		},
		{
			class: Cgroups, name: "release-agent", about: "set the program that the kernel runs when a v1 cgroup empties",
			prepare: func(s *stage) error {
				found, _ := filepath.Glob("/sys/fs/cgroup/*/release_agent")
				if len(found) == 0 {
					return missing("a v1 cgroup tree")
				}
				s.set("agent", found[0])
				return nil
			},
			do: func(in *inside) error { return rewrite(in.get("agent")) },
		},
		{
			class: Cgroups, name: "mount", about: "mount the cgroup tree oneself",
			do: func(in *inside) error { return mounted(in, "cgroup2", "cgroup2") },
			judge: func(s *stage, r *run1) finding {
				_ = unix.Unmount(s.path("write/mount"), unix.MNT_DETACH)
				if r.over && r.err == "" {
					return escaped("%s", r.how())
				}
				return held("%s", r.how())
			},
		},
	}
}

// rewrite writes to a setting what it is already.
func rewrite(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(append(b[:len(b):len(b)], "\n"[:1-min(1, len(b))]...))
	return err
}

// mounted mounts a file system in the granted folder and takes it away again.
func mounted(in *inside, source, kind string) error {
	path := in.get("write") + "/mount"
	check(os.Mkdir(path, 0o777))
	check(unix.Mount(source, path, kind, 0, ""))
	return unix.Unmount(path, unix.MNT_DETACH)
}
