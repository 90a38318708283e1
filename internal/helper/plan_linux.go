//go:build !hostsup_posix

package helper

import (
	"encoding/binary"
	"reflect"
)

// What the Launcher tells a helper that confines, and what that says on top of
// the reports of the others.
const (
	RoleConfine Role = 'p' // payload: a plan; descriptors from 4 on: the command's, then plan.procs

	ReportProblem  = 'w' // a step of the plan failed: Exit.Code bytes that name it follow
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

// Plan is everything a helper needs to know. The Launcher decides; the helper
// carries out.
type Plan struct {
	Mode    int
	Unshare int // namespaces to leave first; with one of mounts, Mounts make the new root
	Proc    bool

	Path, Dir string
	Args, Env []string
	Files     int // of the command
	Groups    int // open cgroup.procs files the command puts itself into

	Mounts    []MountOp
	RootAttrs uint64 // of the new root
	Loopback  bool
	Listen    []Address // loopback addresses to listen on, in the order in which they are handed out
	Memfd     bool      // executable memory files are switched off in the pid namespace

	UID, GID int  // -1: as they are
	UserNS   bool // the command enters a user namespace that knows only UID and GID; two descriptors of such follow those of the groups
	Caps     bool // the command gives up what capabilities it could have
	Bounded  bool // the thread that starts it has an empty bounding set

	Landlock    int // version; 0: none
	LandlockNet bool
	Audit       bool
	Rules       []LandlockRule

	NoNewPrivs bool
	NoJIT      bool
	Filter     []uint64
	Observer   []uint64
	Limits     []Rlimit
}

// NobodyKnown is a user and group id that nobody has: the last but three of
// all.
const NobodyKnown = 1<<32 - 4

// Address is one to listen at.
type Address struct {
	Name string // for messages
	IP   string // 4 or 16 bytes
	Port int
}

// LandlockRule gives rights to a path and to what is below it.
type LandlockRule struct {
	Path   string
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
	From  string // OpBind: a path outside; OpLink: the text; OpCover: a path in the new root
	Attrs uint64
	UID   int // OpBind: the owner outside who is shown as plan.UID; -1: none is
	GID   int
	Size  int64 // OpTmpfs, bytes
	Nodes int64
	Mode  int
	What  string // names the step in errors; "" for those that say it by themselves
	Loose bool   // only to be read: nothing is written to, not even a socket
}

// The kinds of a MountOp.
const (
	OpDir    = iota // make a folder
	OpFile          // make an empty file
	OpLink          // make a symbolic link
	OpBind          // show a path from outside
	OpTmpfs         // a file system in memory
	OpProc          // /proc
	OpPin           // make a folder one that cannot be renamed
	OpCover         // show another path of the new root
	OpKept          // show the mount that comes after those of UserNS
	OpText          // make a file with From in it
	OpDevice        // make a character device with the number Size
)

// Pack and unpack carry structs of numbers, strings and lists of them over the
// helper's socket. Both ends are the same binary, so there is no version and
// no name in it.
func Pack(v any) []byte { return packValue(nil, reflect.ValueOf(v).Elem()) }

func packValue(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return append(b, 1)
		}
		return append(b, 0)
	case reflect.Int, reflect.Int64:
		return binary.AppendVarint(b, v.Int())
	case reflect.Uint64:
		return binary.AppendUvarint(b, v.Uint())
	case reflect.String:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		return append(b, v.String()...)
	case reflect.Slice:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		if words, ok := v.Interface().([]uint64); ok {
			for _, w := range words {
				b = binary.LittleEndian.AppendUint64(b, w)
			}
			return b
		}
		for i := range v.Len() {
			b = packValue(b, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			b = packValue(b, v.Field(i))
		}
	}
	return b
}

// unpack fills *v from what Pack made of one.
func unpack(b []byte, v any) error {
	u := unpacker{b: b}
	u.value(reflect.ValueOf(v).Elem())
	if u.bad || len(u.b) > 0 {
		return ErrOrder
	}
	return nil
}

type unpacker struct {
	b   []byte
	bad bool
}

func (u *unpacker) uvarint() uint64 {
	n, size := binary.Uvarint(u.b)
	return n & u.took(size)
}

// took moves on; its mask is zero when there was nothing.
func (u *unpacker) took(size int) uint64 {
	if size <= 0 {
		u.bad, u.b = true, nil
		return 0
	}
	u.b = u.b[size:]
	return ^uint64(0)
}

// length is that of a list or string, never more than there are bytes.
func (u *unpacker) length() int {
	n := u.uvarint()
	if n > uint64(len(u.b)) {
		u.bad, u.b = true, nil
		return 0
	}
	return int(n)
}

func (u *unpacker) words(n int) []uint64 {
	if n > len(u.b)/8 {
		u.bad, u.b = true, nil
		return nil
	}
	var words []uint64
	for range n {
		words = append(words, binary.LittleEndian.Uint64(u.b))
		u.b = u.b[8:]
	}
	return words
}

func (u *unpacker) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		if len(u.b) == 0 {
			u.bad = true
			return
		}
		v.SetBool(u.b[0] == 1)
		u.b = u.b[1:]
	case reflect.Int, reflect.Int64:
		n, size := binary.Varint(u.b)
		u.took(size)
		v.SetInt(n)
	case reflect.Uint64:
		v.SetUint(u.uvarint())
	case reflect.String:
		n := u.length()
		v.SetString(string(u.b[:n]))
		u.b = u.b[n:]
	case reflect.Slice:
		n := u.length()
		if words, ok := v.Addr().Interface().(*[]uint64); ok {
			*words = u.words(n)
			return
		}
		if n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
		}
		for i := 0; i < n && !u.bad; i++ {
			u.value(v.Index(i))
		}
	case reflect.Struct:
		for i := 0; i < v.NumField() && !u.bad; i++ {
			u.value(v.Field(i))
		}
	}
}
