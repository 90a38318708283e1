package policy

import "slices"

// A named profile is a policy like any other: what one would write oneself for
// programs of a kind. It grants no folder of a user's and no network; what a
// host works on is added to it. Paths with a dash in front are granted where
// they exist, so that a profile fits machines that are laid out differently.

// Profiles returns the names of the profiles, from the narrowest.
func Profiles() []string {
	names := make([]string, 0, len(profiles))
	for _, p := range profiles {
		names = append(names, p.policy.Profile)
	}
	return names
}

// Profile returns a named profile, as a copy that may be changed.
func Profile(name string) (Policy, bool) {
	for _, p := range profiles {
		if p.policy.Profile == name {
			return p.policy.clone(), true
		}
	}
	return Policy{}, false
}

// ProfileDoc says in a line what a profile is for; "" for an unknown name.
func ProfileDoc(name string) string {
	for _, p := range profiles {
		if p.policy.Profile == name {
			return p.doc
		}
	}
	return ""
}

type profile struct {
	doc    string
	policy Policy
}

var (
	// programs are where a system keeps its programs and their libraries.
	programs = []string{"-/usr", "-/bin", "-/sbin", "-/lib", "-/lib32", "-/libx32", "-/lib64"}
	// loading is what the dynamic loader and the C library read at every start.
	loading = []string{"-/etc/ld.so.cache", "-/etc/ld.so.conf", "-/etc/ld.so.conf.d", "-/etc/alternatives", "-/etc/localtime"}
	// runtimes is what interpreters look at: names of users and hosts, locales,
	// certificates, the number of processors.
	runtimes = slices.Concat(loading, []string{
		"-/etc/passwd", "-/etc/group", "-/etc/nsswitch.conf", "-/etc/hosts", "-/etc/locale.alias", "-/etc/mime.types",
		"-/etc/ssl/certs", "-/etc/ssl/openssl.cnf", "-/etc/pki/tls/certs", "-/etc/ca-certificates",
		"-/sys/devices/system/cpu",
	})
	// editing is what terminal programs and version control read besides.
	editing = slices.Concat(runtimes, []string{"-/etc/terminfo", "-/etc/inputrc", "-/etc/gitconfig", "-/etc/gitattributes"})
)

var profiles = []profile{
	{"the system's programs and nothing else: no memory that is written and run, no network",
		Policy{Profile: "strict", Exec: programs, Read: loading, Network: NetworkNone}},
	{"scripts for Node.js, whose engine needs memory that it writes and runs",
		Policy{Profile: "node", Exec: programs, Read: runtimes, Network: NetworkNone, JIT: true}},
	{"scripts for Python",
		Policy{Profile: "python", Exec: programs, Read: append(slices.Clone(runtimes), "-/etc/python3"), Network: NetworkNone}},
	{"language servers and editors: engines that compile, with room for an index in /tmp",
		Policy{Profile: "language-server", Exec: programs, Read: editing, Network: NetworkNone, JIT: true,
			Tmp: Tmp{Size: 256 << 20, Inodes: 32768}}},
	{"compilers, version control and what they build and run, with a large /tmp",
		Policy{Profile: "build-tool", Exec: programs, Read: editing, Network: NetworkNone, JIT: true,
			Tmp: Tmp{Size: 1 << 30, Inodes: 262144}}},
}
