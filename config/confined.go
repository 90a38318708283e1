package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/sandbox/resolve"
)

// confined completes and checks the values of the blocks sandbox and limits after
// they have been read. p holds the positions of the surrounding block. resolved is
// nil if the policy was not resolved on this machine, or is wrong.
func (r *reader) confined(c *confinement, p places) (resolved *policy.Resolved) {
	for path, rng := range p.at {
		if field, ok := strings.CutPrefix(path, "sandbox."); ok {
			c.at[field] = rng
		} else if strings.HasPrefix(path, "limits.") {
			c.at[path] = rng
		}
	}
	if c.at[""], c.given = p.at["sandbox"]; !c.given {
		c.at[""] = p.at["limits"]
	} else {
		c.policy.Source = make(map[string]string, len(c.at))
		for field, rng := range c.at {
			c.policy.Source[field] = fmt.Sprintf("%s:%d", rng.Filename, rng.Start.Line)
		}
	}
	jit := c.policy.JIT // may be false explicitly
	c.policy = policy.Merge(c.base, c.policy)
	c.policy.JIT = jit
	errs := policy.Errors(c.sandbox().Validate(c.limits))
	if wrong := slices.ContainsFunc(slices.Collect(maps.Keys(p.at)), func(path string) bool {
		return p.wrong[path] && (strings.HasPrefix(path, "sandbox.") || strings.HasPrefix(path, "limits."))
	}); wrong {
		// An error of a field about others may follow from another error.
		errs = slices.DeleteFunc(errs, func(e *policy.Error) bool { return !strings.Contains(e.Field, "[") })
		r.refused(c, errs, hcl.DiagError)
		return nil
	}
	r.refused(c, errs, hcl.DiagError)
	if r.enforce == nil || len(errs) > 0 || !c.given && !c.limits.Any() {
		return nil
	}
	resolved, weaker, err := r.enforce(r.placed(c.sandbox()), c.limits)
	r.refused(c, policy.Errors(err), r.severity())
	r.weaker(c, weaker)
	if err != nil {
		return nil
	}
	return resolved
}

// severity returns the severity of what this machine cannot enforce now.
func (r *reader) severity() hcl.DiagnosticSeverity {
	if r.lenient {
		return hcl.DiagWarning
	}
	return hcl.DiagError
}

// notYet returns a sentence for what is only a warning.
func (r *reader) notYet() string {
	if r.lenient {
		return " The host cannot start until that changes."
	}
	return ""
}

// sandbox returns the policy, or nil without a block.
func (c *confinement) sandbox() *policy.Policy {
	if !c.given {
		return nil
	}
	return &c.policy
}

// refused converts errors of package policy into diagnostics.
func (r *reader) refused(c *confinement, errs []*policy.Error, severity hcl.DiagnosticSeverity) {
	for _, e := range errs {
		rng, field := c.locate(e.Field)
		reason := upperFirst(e.Reason) + "."
		if e.Value != "" && !strings.HasPrefix(e.Field, "limits.") {
			reason = fmt.Sprintf("%q: %s.", e.Value, e.Reason)
		}
		if e.Help != "" {
			reason += " " + upperFirst(e.Help) + "."
		}
		if strings.HasSuffix(reason, "?.") {
			reason = strings.TrimSuffix(reason, ".")
		}
		if severity == hcl.DiagWarning {
			reason += r.notYet()
		}
		r.note(severity, rng, "invalid value for "+field, "%s", reason)
	}
}

// weaker warns of limits that the machine enforces only by weaker means, which the
// limits accept.
func (r *reader) weaker(c *confinement, list []*policy.Error) {
	for _, e := range list {
		rng, field := c.locate(e.Field)
		r.warn(rng, "weaker than "+field+" says", "%s.", upperFirst(e.Reason))
	}
}

// locate returns the position and name of a field, or of the nearest block around
// it. A value from a profile has the position of the profile's name.
func (c *confinement) locate(field string) (hcl.Range, string) {
	name := field
	if written, ok := c.names[field]; ok {
		name = written
	}
	for f := field; f != ""; {
		if rng, ok := c.at[f]; ok {
			return rng, name
		}
		i := strings.LastIndexAny(f, ".[")
		if i < 0 {
			break
		}
		f = f[:i]
	}
	if rng, ok := c.at["profile"]; ok {
		return rng, name + " of the profile"
	}
	return c.at[""], name
}

// reachable reports a program that the policy does not let run, and a working folder
// that it does not grant, if they exist.
func (r *reader) reachable(resolved *policy.Resolved, d *hostDecl) {
	if resolved == nil || !d.confinement.given || resolved.Policy.Level == policy.None || len(d.spec.Command) == 0 {
		return
	}
	if path, err := sandbox.LookPath(d.spec.Command[0], d.spec.Dir, r.programs); err == nil && !isLate(d.spec.Dir) && !resolve.Access(resolved, path).Has(policy.Exec) {
		r.note(r.severity(), d.at["command"], "program is not granted", "The sandbox does not let %s run; %s.%s", path, policy.Add(policy.Line("exec", path)), r.notYet())
	}
	if dir := d.spec.Dir; dir != "" && !isLate(dir) && !resolve.Reaches(resolved, dir) {
		r.note(r.severity(), d.at["dir"], "folder is not granted", "The sandbox does not grant %s, in which the host is to work; %s.%s", dir, policy.Add(policy.Line("read", dir)), r.notYet())
	}
}
