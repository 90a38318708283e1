package policy

import "slices"

// A named profile is an ordinary policy for one kind of program. It grants no
// folder of a user and no network; policies add what a host works on. Most paths
// have a dash, so that a profile fits machines with different layouts.

// Profiles returns the names of the profiles, from the narrowest.
func Profiles() []string {
	names := make([]string, 0, len(profiles))
	for _, p := range profiles {
		names = append(names, p.name)
	}
	return names
}

// Profile returns a copy of a named profile, which the caller may change.
func Profile(name string) (Policy, bool) {
	for _, p := range profiles {
		if p.name == name {
			made := Policy{Profile: name, Exec: programs, Read: slices.Concat(append([][]string{loading}, p.read...)...), Network: NetworkNone, JIT: p.jit, Tmp: p.tmp}
			return made.clone(), true
		}
	}
	return Policy{}, false
}

// ProfileDoc returns one line on the purpose of a profile; "" for an unknown name.
func ProfileDoc(name string) string {
	for _, p := range profiles {
		if p.name == name {
			return p.doc
		}
	}
	return ""
}

// profile is what a profile has besides the system's programs.
type profile struct {
	name, doc string
	jit       bool
	tmp       Tmp
	read      [][]string // besides loading
}

var (
	// programs lists where a system keeps its programs and their libraries.
	programs = []string{"-/usr", "-/bin", "-/sbin", "-/lib", "-/lib32", "-/libx32", "-/lib64"}
	// loading lists what the dynamic loader and the C library read at every start.
	loading = []string{
		"-/etc/ld.so.cache", "-/etc/ld.so.conf", "-/etc/ld.so.conf.d", "-/etc/alternatives", "-/etc/localtime",
		"-/etc/locale.alias", "-/etc/nsswitch.conf",
	}
	// names lists where names of users and hosts are looked up; builds need no groups.
	names      = []string{"-/etc/passwd", "-/etc/group", "-/etc/hosts"}
	buildNames = []string{"-/etc/passwd", "-/etc/hosts"}
	// openssl lists the roots that verify servers on the network, and certificates where
	// other systems have them.
	openssl      = []string{"-/etc/ssl/certs", "-/etc/ssl/openssl.cnf"}
	certificates = []string{"-/etc/pki/tls/certs", "-/etc/ca-certificates"}
)

// processors is where language engines read how many threads to start.
const processors = "-/sys/devices/system/cpu"

var profiles = []profile{
	{"strict", "the system's programs and nothing else: no memory that is written and run, no network", false, Tmp{}, nil},
	{"git", "version control, and what it runs", false, Tmp{},
		[][]string{names, openssl, certificates, {"-/etc/gitconfig", "-/etc/gitattributes"}}},
	{"python", "scripts for Python", false, Tmp{},
		[][]string{names, openssl, certificates, {processors, "-/etc/mime.types", "-/etc/python3"}}},
	{"node", "scripts for Node.js, whose engine needs memory that it writes and runs", true, Tmp{},
		[][]string{names, openssl, certificates, {processors}}},
	{"mcp-server", "servers of the Model Context Protocol, for Node.js and Python", true, Tmp{},
		[][]string{names, openssl, certificates, {processors, "-/etc/mime.types"}}},
	{"language-server", "language servers and editors: engines that compile, with room for an index in /tmp", true, Tmp{Size: 256 << 20, Inodes: 32768},
		[][]string{names, {"-/etc/ssl/openssl.cnf", processors, "-/etc/terminfo", "-/etc/gitconfig"}}},
	{"vscode-extensions", "hosts of editor extensions: engines that compile, and what extensions start", true, Tmp{Size: 256 << 20, Inodes: 32768},
		[][]string{names, openssl, {processors, "-/etc/gitconfig"}}},
	{"go-build", "building Go programs, with the cache in a large /tmp", false, Tmp{Size: 2 << 30, Inodes: 262144},
		[][]string{buildNames, openssl, certificates, {"-/etc/gitconfig"}}},
	{"npm-install", "installing packages of Node.js, with the scripts that they run", true, Tmp{Size: 1 << 30, Inodes: 262144},
		[][]string{buildNames, openssl, certificates, {processors}}},
	{"build-tool", "compilers, version control and what they build and run, with a large /tmp", true, Tmp{Size: 1 << 30, Inodes: 262144},
		[][]string{names, openssl, {processors, "-/etc/gitconfig"}}},
}
