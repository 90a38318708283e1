//go:build !hostsup_posix

package process

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/hostsup/hostsup/internal/helper"
)

// Settings are what a shim is told beside its command, in environment variables. The command comes as a helper.Order
// on descriptor helper.FD. The lock is the next descriptor; those of cgroups follow.
type Settings struct {
	Folder string         // its folder
	Most   int            // the longest message, in bytes
	Born   bool           // the next descriptor is the folder of the cgroup in which the command begins
	Enter  int            // how many files of cgroups follow, to which the command writes itself
	Limits map[int]uint64 // of the command, by the resource of setrlimit
}

// The variables.
const (
	folderVar = "HOSTSUP_SHIM_FOLDER"
	mostVar   = "HOSTSUP_SHIM_MOST"
	bornVar   = "HOSTSUP_SHIM_BORN"
	enterVar  = "HOSTSUP_SHIM_ENTER"
	limitsVar = "HOSTSUP_SHIM_LIMITS" // RESOURCE=VALUE, with commas between
)

// Environ returns the environment of a shim.
func (s *Settings) Environ() []string {
	var limits []string
	for resource, value := range s.Limits {
		limits = append(limits, strconv.Itoa(resource)+"="+strconv.FormatUint(value, 10))
	}
	slices.Sort(limits)
	return append([]string{
		Var + "=" + strconv.Itoa(helper.FD), folderVar + "=" + s.Folder, mostVar + "=" + strconv.Itoa(s.Most),
		bornVar + "=" + strconv.FormatBool(s.Born), enterVar + "=" + strconv.Itoa(s.Enter), limitsVar + "=" + strings.Join(limits, ","),
	}, Env...)
}

// readSettings returns the settings of this shim.
func readSettings() (s Settings, err error) {
	s.Folder = os.Getenv(folderVar)
	if s.Most, err = strconv.Atoi(os.Getenv(mostVar)); err != nil {
		return s, syscall.EINVAL
	}
	if s.Born, err = strconv.ParseBool(os.Getenv(bornVar)); err != nil {
		return s, syscall.EINVAL
	}
	if s.Enter, err = strconv.Atoi(os.Getenv(enterVar)); err != nil {
		return s, syscall.EINVAL
	}
	s.Limits = map[int]uint64{}
	for _, limit := range strings.FieldsFunc(os.Getenv(limitsVar), func(r rune) bool { return r == ',' }) {
		resource, value, _ := strings.Cut(limit, "=")
		n, err := strconv.Atoi(resource)
		if err != nil {
			return s, syscall.EINVAL
		}
		if s.Limits[n], err = strconv.ParseUint(value, 10, 64); err != nil {
			return s, syscall.EINVAL
		}
	}
	return s, nil
}

// groups returns the descriptors of cgroups: that in which the command begins, 0 without one, and those to which it writes.
func (s *Settings) groups() (born int, enter []int) {
	next := helper.FD + 2
	if s.Born {
		born = next
		next++
	}
	for i := range s.Enter {
		enter = append(enter, next+i)
	}
	return born, enter
}

// rlimits returns the limits of the command.
func (s *Settings) rlimits() (list []helper.Rlimit) {
	for resource, value := range s.Limits {
		list = append(list, helper.Rlimit{Resource: resource, Value: value})
	}
	return list
}
