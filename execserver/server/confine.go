package server

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// confinement is what a start comes to.
type confinement struct {
	policy *policy.Policy // nil: none
	kind   wire.SandboxType
}

// confine says how the process of q is confined. What it cannot enforce as it
// was asked for is an error, never something less.
func (s *Server) confine(q *wire.ProcessStartParams) (confinement, *wire.Error) {
	none := confinement{s.opt.Sandbox, wire.SandboxNone}
	if s.opt.Sandbox != nil {
		none.kind = sandboxType
	}
	if len(q.NetworkProxy) > 0 && string(q.NetworkProxy) != "null" {
		return none, wire.InvalidRequest("a network proxy cannot be launched by this server")
	}
	sb := q.Sandbox
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
	if s.opt.Sandbox != nil {
		return none, wire.InvalidRequest("this server has a sandbox of its own, which cannot be combined with that of a request")
	}
	p, bad := policyOf(q)
	if bad != nil {
		return none, bad
	}
	return confinement{p, sandboxType}, nil
}

// sandboxType is what a confined process is called. The protocol has no other
// word for it.
const sandboxType = wire.SandboxLinuxSeccomp

// programs is what is needed to run anything at all.
var programs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store"}

// policyOf turns a managed sandbox object into a policy. Its entries are
// grants: what none names is not there. An entry that is narrower wins over the
// one around it, but for what is denied: nothing in it is granted.
func policyOf(q *wire.ProcessStartParams) (*policy.Policy, *wire.Error) {
	sb := q.Sandbox
	p := &policy.Policy{Profile: "", Network: policy.NetworkHost, JIT: true}
	if sb.Permissions.Network != wire.NetworkEnabled {
		p.Network = policy.NetworkNone
	}
	if sb.Permissions.FileSystem.Type == wire.FileSystemUnrestricted {
		p.Write = wholeMachine()
		p.Exec = p.Write
		return p, nil
	}
	at := places{sb: sb, cwd: q.Cwd}
	var readOnly []string
	for i := range sb.Permissions.FileSystem.Entries {
		e := &sb.Permissions.FileSystem.Entries[i]
		paths, bad := at.of(&e.Path)
		if bad != nil {
			return nil, bad
		}
		if e.Access == wire.AccessRead && len(paths) == 1 && paths[0] == "/" {
			paths = wholeMachine()
		}
		for _, path := range paths {
			switch {
			case e.MissingPathBehavior != nil && !exists(path) && e.Path.Type != wire.PathGlob:
				// It is passed over, but what may not be written does not come to be
				// there either.
				if e.Access != wire.AccessWrite {
					p.Deny = append(p.Deny, path)
				}
			case e.Access == wire.AccessRead:
				p.Read, p.Exec = append(p.Read, path), append(p.Exec, path)
				readOnly = append(readOnly, path)
			case e.Access == wire.AccessWrite:
				p.Write, p.Exec = append(p.Write, path), append(p.Exec, path)
			default:
				p.Deny = append(p.Deny, path)
			}
		}
	}
	// What is to be read only within something that can be written.
	for _, r := range readOnly {
		if !slices.Contains(p.Write, r) && slices.ContainsFunc(p.Write, func(w string) bool { return below(r, w) }) {
			p.ReadOnly = append(p.ReadOnly, r)
		}
	}
	return p, nil
}

// wholeMachine is everything in the root, but for what every confined process
// has its own of. A policy wants it by name.
func wholeMachine() []string {
	entries, err := os.ReadDir("/")
	if err != nil {
		return programs
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
	return err == nil && rel != ".." && !(len(rel) > 2 && rel[:3] == "../")
}
