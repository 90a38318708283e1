package sandbox

import (
	"errors"
	"fmt"
	"os"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// Shortfall is a limit that no cgroup can enforce on this machine, as this user.
type Shortfall struct {
	Limit   string `json:"limit"`   // "memory", "tasks" or "cpu"
	Reason  string `json:"reason"`  // why no cgroup enforces it
	Instead string `json:"instead"` // what enforces it with policy.BestEffort
}

// String returns text such as "cpu: not limited, because …".
func (s Shortfall) String() string {
	return s.Limit + ": " + s.Instead + ", because " + s.Reason
}

// delegation is how an ordinary user gets cgroups.
const delegation = "systemd-run --user --scope -p Delegate=yes hostsup …, or a unit with Delegate=yes"

// problem returns the Shortfall as an error of the policy with the limit.
func (s Shortfall) problem(l policy.Limits, source map[string]string) *policy.Error {
	value := map[string]string{"memory": fmt.Sprint(l.Memory), "tasks": fmt.Sprint(l.Tasks), "cpu": fmt.Sprint(l.CPU)}[s.Limit]
	e := &policy.Error{Field: "limits." + s.Limit, Value: value, Where: source["limits."+s.Limit]}
	if l.Enforce == policy.BestEffort {
		e.Reason = s.Instead + ": no cgroup can hold it here: " + s.Reason
		return e
	}
	e.Reason = "no cgroup can hold it here: " + s.Reason
	e.Help = fmt.Sprintf("run hostsup where a cgroup is delegated to it (%s), or go on without one by limits { enforce = %q }: %s is %s then",
		delegation, policy.BestEffort, s.Limit, s.Instead)
	return e
}

// Limits reports which of the limits no cgroup can enforce on this machine. With
// policy.Strict it returns the error of a start, which joins errors of type
// [*policy.Error]; with policy.BestEffort it returns them in weaker, each with what
// enforces the limit instead. p is the policy of the limits; it may be nil.
func (m *Machine) Limits(p *policy.Policy, l policy.Limits) (weaker []*policy.Error, err error) {
	if _, none := m.Feature("confinement"); none && l.Any() {
		return nil, &policy.Error{Field: "limits", Reason: "limits cannot be enforced by this build", Help: "run it on Linux"}
	}
	var source map[string]string
	if p != nil {
		source = p.Source
	}
	var refused []error
	for _, limit := range []string{"memory", "tasks", "cpu"} {
		f, _ := m.Feature(limit + " limit")
		if !has(l, limit) || f.Have {
			continue
		}
		e := Shortfall{limit, f.Detail, instead(limit, p != nil && ownCount(m.Level))}.problem(l, source)
		if l.Enforce == policy.BestEffort {
			weaker = append(weaker, e)
		} else {
			refused = append(refused, e)
		}
	}
	return weaker, errors.Join(refused...)
}

func has(l policy.Limits, limit string) bool {
	switch limit {
	case "memory":
		return l.Memory > 0
	case "tasks":
		return l.Tasks > 0
	default:
		return l.CPU > 0
	}
}

// ownCount reports whether the kernel counts the processes of a command confined at
// level separately from all others.
func ownCount(level policy.Level) bool {
	return os.Geteuid() == 0 && level != policy.None || level.AtLeast(policy.NoCgroup)
}

// instead returns what enforces a limit without a cgroup.
func instead(limit string, ownCount bool) string {
	switch {
	case limit == "memory":
		return "sampled, and its tree killed when it has more"
	case limit == "tasks" && ownCount:
		return "held by a limit of its user's processes"
	default:
		return "not limited"
	}
}

// initTasks is how many tasks our init has; they count for the user of the command.
const initTasks = 1
