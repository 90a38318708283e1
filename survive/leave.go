package survive

import (
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/supervisor"
)

// Leave prepares hosts of a tree for another supervisor, of this program or a newer one, that takes them back. It returns the names of those
// whose process stays: they have a [Rule] and are running. From then on what is sent to these is dropped, and when the tree is stopped they
// end for it, while their processes go on. The others are stopped as ever.
//
// NOTE: the caller must stop the tree at once. Calls that are under way then fail as at any other stop, so
// the caller waits for these before.
func Leave(hosts []*supervisor.Host) (stay []string) {
	for _, host := range hosts {
		if h := hostOf(host.Ref()); h != nil && h.letGo() {
			stay = append(stay, host.Name())
		}
	}
	return stay
}

// Kept returns the names of hosts whose process is in a state folder and would be taken back by a supervisor of
// these groups. It changes nothing, and takes no lock.
func Kept(stateDir string, groups []supervisor.GroupSpec) (names []string) {
	for _, g := range groups {
		for _, h := range g.Hosts {
			if ruled(h.Features) && fits(stateDir, h.WithDefaults()) {
				names = append(names, h.Name)
			}
		}
	}
	return names
}

// fits reports whether the last life of a host in a state folder is one of its configuration.
func fits(stateDir string, h supervisor.HostSpec) bool {
	spec := hostspec.Spec{
		Name: h.Name, Job: h.Job, Command: h.Command, Protocol: h.Protocol, Transport: h.Transport, Dir: h.Dir,
		Env: h.Env, InheritEnv: h.InheritEnv, Init: h.Init, Limits: h.Limits, Sandbox: h.Sandbox, Resources: h.Resources,
	}
	left := lives(disk{}, hostDir(stateDir, h.Name))
	return len(left) > 0 && left[0].check(&spec) == nil
}
