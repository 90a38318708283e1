package policy

// Access is what a grant allows. It is a set of bits.
type Access uint8

// The kinds of access. Exec and Write include Read.
const (
	Read  Access = 1
	Exec  Access = 2 | Read
	Write Access = 4 | Read
)

// Has reports whether a includes all of b.
func (a Access) Has(b Access) bool { return a&b == b }

// String is the fields of a policy that give the access: "read", "exec",
// "write" or "exec+write".
func (a Access) String() string {
	switch {
	case a.Has(Exec) && a.Has(Write):
		return "exec+write"
	case a.Has(Exec):
		return "exec"
	case a.Has(Write):
		return "write"
	case a.Has(Read):
		return "read"
	}
	return "none"
}

// Resolved is what a policy comes to on this machine at this moment.
type Resolved struct {
	// Policy is what was resolved, with its defaults filled in
	// ([Policy.WithDefaults]) and Work.Path followed over links.
	Policy Policy
	Limits Limits

	// Grants are what may be touched, parents before children, one for each
	// path. Grants add up: a grant below another one has its access too.
	Grants []Grant
	// Denied wins over Grants. It holds only what lies in a grant; what is not
	// granted needs no denying. Parents before children.
	Denied []Denied

	// UID and GID are the user and group that Policy.User names; -1 for one
	// that is still to be chosen ("auto" as root) or stays as it is (not root).
	UID, GID int
	// Groups are the other groups of the user that Policy.User names, by
	// /etc/group, sorted; never root's.
	Groups []int

	// PrivateTmp says that /tmp is a fresh one of Policy.Tmp's bounds. It is
	// false when the policy grants the machine's own /tmp or what is above it.
	PrivateTmp bool

	// RefusedSyscalls are the names of the system calls that are refused
	// whatever their arguments, sorted: the list of this package, without what
	// the policy takes off and with what it adds. Calls that are refused for
	// some arguments, or at some levels, are not in it unless the policy denies
	// them as a whole; see Resolved.SyscallRules.
	RefusedSyscalls []string
}

// Grant is one path that may be touched, with everything below it.
type Grant struct {
	Path   string // absolute and clean; no part of its folder is a symbolic link
	Access Access // its own and that of the grants around it
	Dir    bool
	Device bool   // a character device, from Policy.Devices
	Link   string // Path is a symbolic link, and this is its text; what it points to is a grant of its own
	Field  string // "read[0]"; of several the first
	// ReadOnly is taken out of a grant around it that can be written.
	ReadOnly bool
	// Pinned are for a ReadOnly grant what they are for a Denied.
	Pinned []string

	// Device number and inode of Path as it was found, and who owns it; zero for a
	// link. A start that finds something else at Path must fail.
	Node, Inode uint64
	UID, GID    int
}

// Denied is one path that may not be touched, nor what is below it.
type Denied struct {
	Path    string // absolute and clean; no part of its folder is a symbolic link
	Missing bool   // it does not exist; it must not come into being
	Absent  bool   // it is to be seen as an empty folder
	Dir     bool
	Link    bool   // a symbolic link; what it points to is denied too
	Closed  string // why Path cannot be looked into; it is denied as a whole, because what is denied may be or come to be in it
	Pattern string // the glob that it matched; "" for a literal path
	Field   string // "deny[2]"
	// Anchor is the part of Path that is to be covered: Path itself, or when
	// it is missing the first part of it that does.
	Anchor string
	// Pinned are the folders between the grant that can be written and the
	// anchor, outermost first, without either: were one of them renamed, the
	// path would be free again. Empty where nothing there can be written.
	Pinned []string
}
