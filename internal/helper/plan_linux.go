//go:build !hostsup_posix

package helper

import "github.com/hostsup/hostsup/internal/sys"

// The kinds of a nurse's Report in addition to those of helpers.
const (
	ReportProblem  = 'w' // a step of the plan failed: see sys.Nurse.Failure
	ReportListener = 'l' // a listening socket comes with it, in the order of Plan.Listen
	ReportObserver = 'o' // the descriptor of the observing filter comes with it
)

// How a command is started.
const (
	PlanSelf   = iota // by the Launcher itself: there is no helper
	PlanInit          // by a helper that stays as pid 1 of the namespace
	PlanReaper        // by a helper that stays as the reaper of the command's orphans
	PlanTry           // not at all: everything before is tried
)

// Plan holds all that a helper needs to know. The Launcher decides; the helper executes.
type Plan struct {
	Mode    int
	Unshare int // namespaces to leave first; with one of mounts, Mounts make the new root
	Proc    bool

	WholeProc bool // the /proc of the new root shows the machine too; Mounts cover what must be hidden
	KeepName  bool // the host name is not changed

	Path, Dir string
	Args, Env []string
	Terminal  bool // descriptor 0 becomes the controlling terminal

	Mounts    []MountOp
	RootAttrs uint64 // of the new root
	Loopback  bool
	Listen    []Address // loopback addresses to listen on, in the order in which they are sent
	Memfd     bool      // executable memory files are switched off in the pid namespace

	UID, GID int   // -1: as they are
	Groups   []int // beside GID, where UID is set
	Inner    Inner // with UserNS
	UserNS   bool  // the command enters a user namespace that knows only UID, GID and Groups; two descriptors of such namespaces follow those of the groups
	Inotify  int   // instances that a user namespace of the command's own may have; 0: as many as its user
	Caps     bool  // the command gives up all capabilities
	Bounded  bool  // the thread that starts it has an empty bounding set

	Landlock    int // version; 0: none
	LandlockNet bool
	Audit       bool
	Rules       []LandlockRule
	Self        bool // the command is this program

	NoNewPrivs bool
	NoJIT      bool
	Filter     []uint64
	Observer   []uint64
	Limits     []Rlimit
}

// Inner is the identity of the command in its user namespace.
type Inner struct {
	// Shown means that Plan.UID and Plan.GID are shown to the command as UID and GID,
	// and every other number as itself. Files of UID on the host side then belong to
	// the command.
	Shown    bool
	UID, GID int
}

// NobodyKnown is a user and group id that no user has: the last but three of all.
const NobodyKnown = 1<<32 - 4

// Address is an address to listen at.
type Address struct {
	Name string // for messages
	IP   string // 4 or 16 bytes
	Port int
}

// LandlockRule gives rights to a path and to what is below it.
type LandlockRule struct {
	Path   string
	ID     sys.FileID // what Path must lead to; zero: anything but a link
	Rights uint64
}

// Rlimit is a limit of a process, hard and soft.
type Rlimit struct {
	Resource int
	Value    uint64
}

// MountOp is one step in the making of the new root.
type MountOp struct {
	Kind  int
	Path  string // in the new root, without the leading slash
	From  string // OpBind: a path of the host side; OpLink: the text; OpCover: a path in the new root
	Attrs uint64
	UID   int // OpBind: the owner on the host side that is shown as plan.UID; -1: none
	GID   int
	Size  int64 // OpTmpfs, bytes
	Nodes int64
	Mode  int
	What  string     // names the step in errors; "" for steps with their own names
	ID    sys.FileID // OpBind: what From must lead to, OpCover: what is covered; zero: anything
	Loose bool       // read-only: nothing can be written to, not even a socket
	All   bool       // OpBind: all other owners are shown with their numbers
	Must  bool       // with Loose and All: a file system that cannot show them fails the plan
}

// The kinds of a MountOp.
const (
	OpDir       = iota // make a folder
	OpFile             // make an empty file
	OpLink             // make a symbolic link
	OpBind             // show a path of the host side
	OpTmpfs            // a file system in memory
	OpProc             // /proc
	OpPin              // make a folder one that cannot be renamed
	OpCover            // show another path of the new root
	OpKept             // show the mount that comes after those of UserNS
	OpText             // make a file with From in it
	OpDevice           // make a character device with the number Size
	OpTerminals        // a /dev/pts of its own
)
