package doctor

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/supervisor"
)

// execPath is where env(1) and others look for a program if there is no PATH.
const execPath = "/bin:/usr/bin"

// mostPrograms bounds how many programs a line names.
const mostPrograms = 8

// Programs says which programs the hosts of a configuration run, and what is missing: the
// program, the one that a script names in its first line, and what a policy needs of
// others. Programs are looked for in path, the supervisor's PATH.
func Programs(groups []supervisor.GroupSpec, path string) []show.Check {
	const name = "programs"
	var out []show.Check
	var found []string
	lacks := func(host, detail, advice string) {
		out = append(out, show.Check{Name: name, Verdict: show.Warning, Detail: fmt.Sprintf("host %q: %s", host, detail), Advice: advice})
	}
	hosts, whole := 0, 0
	for _, g := range groups {
		for _, h := range g.Hosts {
			hosts++
			before := len(out)
			program, err := sandbox.LookPath(h.Command[0], h.Dir, path)
			if err != nil {
				lacks(h.Name, err.Error(), installs(h.Command[0], err))
				continue
			}
			if script, err := interpreted(h, program, path); err != nil {
				lacks(h.Name, fmt.Sprintf("%s is a script, and %v", program, err), script)
			}
			if h.Sandbox != nil && h.Sandbox.Work.Keep {
				if _, err := sandbox.LookPath("mkfs.ext4", "", path); err != nil {
					lacks(h.Name, "work.keep: "+err.Error(), "install e2fsprogs, which has mkfs.ext4")
				}
			}
			if len(out) == before {
				whole++
			}
			if text := fmt.Sprintf("%s (%s)", filepath.Base(h.Command[0]), program); !slices.Contains(found, text) {
				found = append(found, text)
			}
		}
	}
	if hosts == 0 {
		return nil
	}
	text := fmt.Sprintf("there for %d of %d %s", whole, hosts, show.Plural(hosts, "host", "hosts"))
	if more := len(found) - mostPrograms; more > 0 {
		found = append(found[:mostPrograms], fmt.Sprintf("%d more", more))
	}
	if len(found) > 0 {
		text += ": " + strings.Join(found, ", ")
	}
	return append([]show.Check{{Name: name, Verdict: show.OK, Detail: text}}, out...)
}

// installs says what to do about a program that was not found.
func installs(program string, err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "give this user the right to run it: chmod a+x, or another file system than one that is mounted noexec"
	case filepath.Base(program) == program:
		return "install it, or write its whole path; PATH is that of the supervisor, which a unit of systemd sets with Environment=PATH="
	}
	return "install it, or correct the path"
}

// interpreted looks for the program that a script names in its first line, for one that
// begins with env in the PATH that the host will have. advice is what to do about an error.
func interpreted(h supervisor.HostSpec, program, path string) (advice string, err error) {
	words := firstLine(program)
	if len(words) == 0 {
		return "", nil
	}
	if _, err := sandbox.LookPath(words[0], "/", ""); err != nil {
		return "install " + filepath.Base(words[0]), err
	}
	if filepath.Base(words[0]) != "env" {
		return "", nil
	}
	i := slices.IndexFunc(words[1:], func(w string) bool { return w[0] != '-' && !strings.Contains(w, "=") })
	if i < 0 {
		return "", nil
	}
	wanted, own := words[1+i], ""
	switch {
	case h.Env["PATH"] != "":
		own = h.Env["PATH"]
	case slices.Contains(h.InheritEnv, "PATH"):
		own = path
	}
	if _, err = sandbox.LookPath(wanted, "/", cmp.Or(own, execPath)); err == nil {
		return "", nil
	}
	if _, elsewhere := sandbox.LookPath(wanted, "/", path); own == "" && elsewhere == nil {
		return `inherit_env = ["PATH"] in the host`, fmt.Errorf("the host, which has no PATH, would not find %s", wanted)
	}
	return "install " + wanted, err
}

// firstLine returns the words of the first line of a script after #!, none for another file.
func firstLine(path string) []string {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil // it may be run and not read
	}
	defer f.Close()
	head := make([]byte, 256) // as much as the kernel looks at
	n, _ := io.ReadFull(f, head)
	line, ok := bytes.CutPrefix(head[:n], []byte("#!"))
	if !ok {
		return nil
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	return strings.Fields(string(line))
}

// Trees says by which means the processes of a host are ended, also those that it has
// started, and what is missing for a stronger one.
func Trees() show.Check {
	const name = "process trees"
	l, err := sandbox.NewLauncher(sandbox.Options{})
	if err != nil {
		return show.Check{Name: name, Verdict: show.Fault, Detail: err.Error(), Advice: "hostsup run needs this to start hosts"}
	}
	c := show.Check{Name: name, Verdict: show.OK, Detail: "ended by " + string(l.Kill())}
	if missing := l.Missing(); len(missing) > 0 {
		c.Verdict = show.Warning
		c.Detail += "; " + strings.Join(missing, "; ")
		c.Advice = "delegate a cgroup to the supervisor: Delegate=yes in a unit of systemd, or systemd-run --user --scope -p Delegate=yes hostsup run"
	}
	if err := l.Close(); err != nil {
		c.Verdict, c.Detail = show.Warning, c.Detail+"; "+err.Error()
	}
	return c
}
