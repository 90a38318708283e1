package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// confinement says how a request is confined. Processes and files share it, so that
// a sandbox object has one meaning.
type confinement struct {
	policy *policy.Policy // nil: none
	kind   wire.SandboxType
}

// confine returns how a request with the sandbox object sb (nil: none) is
// confined. cwd is the working folder of a process; nil for a request about
// files. A sandbox that cannot be enforced as requested is an error; the request is
// never confined less.
func (s *Server) confine(sb *wire.SandboxContext, cwd *wire.URI) (confinement, *wire.Error) {
	none := s.within(nil)
	if sb == nil {
		return none, nil
	}
	switch sb.Permissions.Type {
	case wire.PermissionsDisabled, wire.PermissionsExternal:
		return none, nil
	}
	files := sb.Permissions.FileSystem
	if files == nil {
		return none, wire.InvalidRequest("the sandbox says nothing about files")
	}
	if files.Type == wire.FileSystemUnrestricted && sb.Permissions.Network == wire.NetworkEnabled {
		return none, nil
	}
	p, bad := policyOf(sb, cwd)
	if bad != nil {
		return none, bad
	}
	if s.opt.Sandbox != nil {
		p.Syscalls.Allow = s.opt.Sandbox.Syscalls.Allow // a sandbox object has no word for them
	}
	return s.within(p), nil
}

// within returns how a command is confined for which a client requests p (nil: no
// sandbox): by p within the sandbox of this server, if it has one. Confined commands
// see what the server's user sees.
func (s *Server) within(p *policy.Policy) confinement {
	var own *policy.Policy
	if s.opt.Sandbox != nil {
		own = ordinary(*s.opt.Sandbox)
	}
	switch {
	case p != nil:
		p = ordinary(*p)
		p.Within = own
	case own == nil:
		return confinement{kind: wire.SandboxNone}
	default:
		p = own
	}
	return confinement{p, sandboxType}
}

// ordinary returns p such that commands see what their user sees.
func ordinary(p policy.Policy) *policy.Policy {
	p.Ordinary = true
	p.Read = slices.Concat(p.Read, machine)
	return &p
}

// confineProcess is confine for a process, which may come with a policy of
// hostsup's own and limits.
func (s *Server) confineProcess(q *wire.ProcessStartParams) (confinement, policy.Limits, *wire.Error) {
	if len(q.Policy) == 0 || string(q.Policy) == "null" {
		how, bad := s.confine(q.Sandbox, &q.Cwd)
		return how, s.opt.Limits, bad
	}
	var given struct {
		Policy policy.Policy `json:"policy"`
		Limits policy.Limits `json:"limits"`
	}
	d := json.NewDecoder(bytes.NewReader(q.Policy))
	d.DisallowUnknownFields() // an unknown field could not be enforced
	refuse := func(text string, args ...any) (confinement, policy.Limits, *wire.Error) {
		return confinement{}, policy.Limits{}, wire.InvalidParams("policy: "+text, args...)
	}
	err := d.Decode(&given)
	switch {
	case err != nil:
		return refuse("%s", err)
	case q.Sandbox != nil:
		return refuse("it cannot be combined with a sandbox")
	case given.Policy.Within != nil:
		return refuse("one that is within another one cannot be asked for")
	case given.Limits != policy.Limits{} && s.opt.Limits != policy.Limits{}:
		return refuse("this server has limits of its own, which cannot be combined with those of a request")
	}
	if err := given.Policy.Validate(given.Limits); err != nil {
		return refuse("%s", err)
	}
	limits := given.Limits
	if s.opt.Limits != (policy.Limits{}) {
		limits = s.opt.Limits
	}
	return s.within(&given.Policy), limits, nil
}

// confinesFiles reports whether a request about files with the sandbox object sb
// must be carried out by a confined process.
func (s *Server) confinesFiles(sb *wire.SandboxContext) bool {
	if s.opt.Sandbox != nil {
		return true
	}
	if sb == nil || sb.Permissions.Type != wire.PermissionsManaged {
		return false
	}
	files := sb.Permissions.FileSystem
	return files == nil || files.Type != wire.FileSystemUnrestricted
}

// sandboxType is what a confined process is called. The protocol has no other
// word for it.
const sandboxType = wire.SandboxLinuxSeccomp

// refuseManaged returns an error for a start whose network is to be managed by a
// proxy of the client's. This server has no such proxy, and a process that must
// reach the network through one only must not run without it.
func refuseManaged(q *wire.ProcessStartParams) *wire.Error {
	switch {
	case len(q.NetworkProxy) > 0 && string(q.NetworkProxy) != "null":
		return wire.InvalidRequest("a network proxy cannot be launched by this server")
	case q.EnforceManagedNetwork:
		return wire.InvalidRequest("enforceManagedNetwork cannot be enforced: this server has no managed network; a sandbox with a restricted network has none at all")
	case q.ManagedNetwork != nil:
		return wire.InvalidRequest("managedNetwork cannot be enforced: this server has no managed network; a sandbox with a restricted network has none at all")
	}
	return nil
}

// unenforced returns an error for a sandbox that cannot be enforced, in terms of
// the sandbox object: a client knows no policy and no configuration.
func unenforced(err error) *wire.Error {
	var level *sandbox.LevelError
	var reasons []string
	switch problems := policy.Errors(err); {
	case errors.As(err, &level):
		reasons = []string{"this machine lacks " + strings.Join(level.Lacks, "; ")}
	case len(problems) > 0:
		for _, p := range problems {
			reason := p.Value + ": " + p.Reason
			if errors.Is(p, policy.ErrUntrusted) {
				reason = p.Value + ": it is, or lies behind, a symbolic link or a folder that others may replace, also the sandbox's own processes"
			}
			if !slices.Contains(reasons, reason) {
				reasons = append(reasons, reason)
			}
		}
	default:
		reasons = []string{err.Error()}
	}
	return wire.Internal("the sandbox cannot be enforced: %s", strings.Join(reasons, "; "))
}

// minimal are the paths that programs need to run at all.
var minimal = []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/etc", "/nix/store", "/run/current-system/sw"}

// machine is what tells programs how many processors and how much memory there
// is, and in which pages.
var machine = []string{"-/sys/devices/system", "-/sys/kernel/mm/transparent_hugepage", "-/sys/kernel/mm/hugepages"}

// protected are the files and folders of a workspace that steer a repository,
// an agent or an account. In a folder that an entry lets be written they can
// only be read, and not come to be, unless an entry names them.
var protected = []string{".git", ".agents", ".codex", ".aws"}

// policyOf turns a managed sandbox object into a policy. Its entries are grants: a
// path that no entry covers does not exist for the command. A narrower entry wins
// over the one around it, and of two for the same path the one that grants more; but
// a denied path is denied with everything in it, whatever else is granted there.
func policyOf(sb *wire.SandboxContext, cwd *wire.URI) (*policy.Policy, *wire.Error) {
	// Without limits a cgroup changes nothing; with them it is needed whatever the level.
	p := &policy.Policy{Level: policy.NoCgroup, Network: policy.NetworkHost, JIT: true}
	if sb.Permissions.Network != wire.NetworkEnabled {
		p.Network = policy.NetworkNone
	}
	if sb.Permissions.FileSystem.Type == wire.FileSystemUnrestricted {
		p.Write = wholeMachine()
		p.Exec = p.Write
		return p, nil
	}
	entries, bad := entriesOf(sb, cwd)
	if bad != nil {
		return nil, bad
	}
	var read, write []string
	for _, e := range entries {
		switch {
		case !e.pattern && ofItsOwn(e):
		case e.pattern:
			if e.access == wire.AccessRead || e.access == wire.AccessWrite {
				return nil, wire.InvalidRequest("the sandbox cannot be enforced here: the pattern %s would grant something; patterns can deny", e.path)
			}
			p.Deny = append(p.Deny, e.path)
		case e.path == "/":
			all := wholeMachine()
			switch e.access {
			case wire.AccessRead:
				p.Read, p.Exec = append(p.Read, all...), append(p.Exec, all...)
			case wire.AccessWrite:
				p.Write, p.Exec = append(p.Write, all...), append(p.Exec, all...)
			default:
				return nil, wire.InvalidRequest("the sandbox denies everything, so that nothing can run in it")
			}
		case e.access == wire.AccessWrite && (!exists(e.path) || leadsWithin(e.path, entries)):
			// There is nothing to write, or another entry lets it be written.
		case e.access == wire.AccessWrite:
			p.Write, p.Exec = append(p.Write, e.path), append(p.Exec, e.path)
			write = append(write, e.path)
		case e.access == wire.AccessRead && !exists(e.path) && settled(e.path) && !writes(entries, e.path):
			// A link that leads nowhere: there is nothing to read.
		case e.access == wire.AccessRead && settled(e.path):
			p.Read, p.Exec = append(p.Read, e.path), append(p.Exec, e.path)
			read = append(read, e.path)
		case e.access == wire.AccessRead:
			p.Absent = append(p.Absent, e.path)
		default:
			path := e.path
			if to, err := filepath.EvalSymlinks(path); err == nil {
				path = to // that it leads there now is what counts
			}
			p.Deny = append(p.Deny, escapeGlob(path))
		}
	}
	for _, w := range write {
		for _, name := range protected {
			path := filepath.Join(w, name)
			switch named := slices.ContainsFunc(entries, func(e entry) bool { return e.path == path }); {
			case named || !isFolder(w):
			case settled(path):
				read = append(read, path)
			default:
				p.Absent = append(p.Absent, path)
			}
		}
	}
	// What is only read lies within something that can be written.
	for _, r := range read {
		if !slices.Contains(p.Write, r) && slices.ContainsFunc(p.Write, func(w string) bool { return below(r, w) }) {
			p.ReadOnly = append(p.ReadOnly, r)
		}
	}
	return p, nil
}

// ofItsOwn reports whether an entry grants a path of which every confined process
// has a private version, so that the machine's cannot be granted.
func ofItsOwn(e entry) bool {
	switch e.access {
	case wire.AccessRead:
		return below(e.path, "/proc") || below(e.path, "/dev")
	case wire.AccessWrite:
		return below(e.path, "/dev/shm") || below(e.path, "/dev/pts")
	}
	return false
}

// writes reports whether an entry around path lets it be written.
func writes(entries []entry, path string) bool {
	return slices.ContainsFunc(entries, func(e entry) bool {
		return e.access == wire.AccessWrite && !e.pattern && e.path != path && below(path, e.path)
	})
}

// leadsWithin reports whether path leads by a symbolic link from what another entry
// lets be written to what it lets be written too. Such a link is never followed to
// grant what it leads to, and need not be.
func leadsWithin(path string, entries []entry) bool {
	to, err := filepath.EvalSymlinks(path)
	return err == nil && to != path && writes(entries, path) && writes(entries, to)
}

// wholeMachine returns the entries of the root, without those of which every
// confined process has a private version. A policy needs their names.
func wholeMachine() []string {
	entries, err := os.ReadDir("/")
	if err != nil {
		return minimal
	}
	var out []string
	for _, e := range entries {
		switch e.Name() {
		case "proc", "sys", "dev", "lost+found":
			continue
		}
		out = append(out, "/"+e.Name())
	}
	return out
}

// below reports whether path is dir or something in it.
func below(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// exists reports whether a path leads to a file. A path that may not be looked at
// counts as one that does.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) && !errors.Is(err, syscall.ELOOP)
}

// settled reports whether there is a file at path that is not just the placeholder
// for a missing file, which another sandbox keeps there while its process runs.
func settled(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && !sys.Placeholder(path, info)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
