package policy

import "slices"

// A named profile is an ordinary policy for one kind of program. It grants no
// folder of a user and no network; policies add what a host works on. Most paths
// have a dash, so that a profile fits machines with different layouts.

// Profiles returns the names of the profiles, from the narrowest.
func Profiles() []string {
	names := make([]string, 0, len(profiles))
	for _, p := range profiles {
		names = append(names, p.policy.Profile)
	}
	return names
}

// Profile returns a copy of a named profile, which the caller may change.
func Profile(name string) (Policy, bool) {
	for _, p := range profiles {
		if p.policy.Profile == name {
			return p.policy.clone(), true
		}
	}
	return Policy{}, false
}

// ProfileDoc returns one line on the purpose of a profile; "" for an unknown name.
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
	// programs lists where a system keeps its programs and their libraries.
	programs = []string{"-/usr", "-/bin", "-/sbin", "-/lib", "-/lib32", "-/libx32", "-/lib64"}
	// loading lists what the dynamic loader and the C library read at every start.
	loading = []string{
		"-/etc/ld.so.cache", "-/etc/ld.so.conf", "-/etc/ld.so.conf.d", "-/etc/alternatives", "-/etc/localtime",
		"-/etc/locale.alias", "-/etc/nsswitch.conf",
	}
	// names lists where names of users and hosts are looked up.
	names = []string{"-/etc/passwd", "-/etc/group", "-/etc/hosts"}
	// certificates lists the roots that verify servers on the network.
	certificates = []string{"-/etc/ssl/certs", "-/etc/ssl/openssl.cnf", "-/etc/pki/tls/certs", "-/etc/ca-certificates"}
)

// processors is where language engines read how many threads to start.
const processors = "-/sys/devices/system/cpu"

// reads returns loading and more, the paths that a profile may read.
func reads(more ...[]string) []string { return slices.Concat(append([][]string{loading}, more...)...) }

var profiles = []profile{
	{"the system's programs and nothing else: no memory that is written and run, no network",
		Policy{Profile: "strict", Exec: programs, Read: loading, Network: NetworkNone}},
	{"version control, and what it runs",
		Policy{Profile: "git", Exec: programs, Read: reads(names, certificates, []string{"-/etc/gitconfig", "-/etc/gitattributes"}), Network: NetworkNone}},
	{"scripts for Python",
		Policy{Profile: "python", Exec: programs, Read: reads(names, certificates, []string{processors, "-/etc/mime.types", "-/etc/python3"}), Network: NetworkNone}},
	{"scripts for Node.js, whose engine needs memory that it writes and runs",
		Policy{Profile: "node", Exec: programs, Read: reads(names, certificates, []string{processors}), Network: NetworkNone, JIT: true}},
	{"servers of the Model Context Protocol, for Node.js and Python",
		Policy{Profile: "mcp-server", Exec: programs, Read: reads(names, certificates, []string{processors, "-/etc/mime.types"}), Network: NetworkNone, JIT: true}},
	{"language servers and editors: engines that compile, with room for an index in /tmp",
		Policy{Profile: "language-server", Exec: programs, Read: reads(names, []string{"-/etc/ssl/openssl.cnf", processors, "-/etc/terminfo", "-/etc/gitconfig"}),
			Network: NetworkNone, JIT: true, Tmp: Tmp{Size: 256 << 20, Inodes: 32768}}},
	{"hosts of editor extensions: engines that compile, and what extensions start",
		Policy{Profile: "vscode-extensions", Exec: programs, Read: reads(names, certificates[:2], []string{processors, "-/etc/gitconfig"}),
			Network: NetworkNone, JIT: true, Tmp: Tmp{Size: 256 << 20, Inodes: 32768}}},
	{"building Go programs, with the cache in a large /tmp",
		Policy{Profile: "go-build", Exec: programs, Read: reads(names[:1], names[2:], certificates, []string{"-/etc/gitconfig"}), Network: NetworkNone,
			Tmp: Tmp{Size: 2 << 30, Inodes: 262144}}},
	{"installing packages of Node.js, with the scripts that they run",
		Policy{Profile: "npm-install", Exec: programs, Read: reads(names[:1], names[2:], certificates, []string{processors}), Network: NetworkNone, JIT: true,
			Tmp: Tmp{Size: 1 << 30, Inodes: 262144}}},
	{"compilers, version control and what they build and run, with a large /tmp",
		Policy{Profile: "build-tool", Exec: programs, Read: reads(names, certificates[:2], []string{processors, "-/etc/gitconfig"}), Network: NetworkNone, JIT: true,
			Tmp: Tmp{Size: 1 << 30, Inodes: 262144}}},
}
