//go:build !hostsup_posix

package helper

import (
	"encoding/binary"
	"errors"

	"github.com/hostsup/hostsup/internal/sys"
)

// The messages between the Launcher and its helper processes, on the helper's
// descriptor 3.
//
//	launcher → helper   one Hello: magic, role, u32 length, payload
//	                    then single bytes: SayGo, later SayKill; to a keeper
//	                    lines, the paths of folders that it is to remove too
//	                    the end of the stream: the launcher has ended or is done
//	helper → launcher   reports of ReportSize bytes
//
// Both are the same binary, so there is no version.
const (
	Name       = "hostsup-keeper"
	Var        = "HOSTSUP_KEEPER" // set to FD
	HuntVar    = "HOSTSUP_HUNT"   // set to the number of the command in a helper that hunts
	FD         = 3
	magic      = "hostsup\x00"
	SayGo      = 'g' // the launcher knows the command; it may be reaped
	SayKill    = 'k'
	MaxPayload = 16 << 20 // several times what execve takes
)

// Role is the task of a helper.
type Role byte

// The roles.
const (
	RoleTest    Role = 't' // reports ready and ends: shows that helpers work here
	RoleKeeper  Role = 'c' // payload: the path of the cgroup, which is open on descriptor 4
	RoleInit    Role = 'i' // payload: a command; pid 1 of its namespace
	RoleReaper  Role = 'r' // payload: a command; inherits its orphans and hunts them
	RoleSweeper Role = 's' // receives Sweeps; removes placeholders
)

// Report is a message from a helper.
type Report struct {
	Kind  byte
	Errno int32 // ReportFailed, ReportBroken
	Exit  sys.Exit
	Alone bool // ReportExit: the command left no process behind
}

// The kinds of a Report.
const (
	ReportReady   = 'r'
	ReportStarted = 's' // the command runs; its pidfd comes with it
	ReportFailed  = 'f' // it could not be started
	ReportBroken  = 'b' // the helper itself could not do its work
	ReportExit    = 'x' // it has ended
	ReportSize    = len(sys.ExitRecord{})
)

// Encode returns r as ReportSize bytes.
func (r Report) Encode() []byte {
	b := r.Exit.Record(r.Kind, r.Errno)
	if r.Alone {
		b.SetAlone()
	}
	return b[:]
}

// DecodeReport decodes what Encode returned.
func DecodeReport(b []byte) (r Report) {
	record := sys.ExitRecord(b)
	r.Kind, r.Errno, r.Exit = record.Exit()
	r.Alone = record.Alone()
	return r
}

// Hello returns the first message to a helper.
func Hello(r Role, payload []byte) []byte {
	b := make([]byte, 0, len(magic)+5+len(payload))
	b = append(b, magic...)
	b = append(b, byte(r))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(payload)))
	return append(b, payload...)
}

// Order is the part of a Command that a helper receives; the descriptors are its own
// from FD+1 on.
type Order struct {
	Path, Dir string
	Args, Env []string
	Files     int
	Terminal  bool
}

// Encode returns o as a payload.
func (o *Order) Encode() []byte {
	var b []byte
	str := func(s string) {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	list := func(l []string) {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(l)))
		for _, s := range l {
			str(s)
		}
	}
	str(o.Path)
	str(o.Dir)
	list(o.Args)
	list(o.Env)
	b = binary.LittleEndian.AppendUint32(b, uint32(o.Files))
	if o.Terminal {
		return append(b, 1)
	}
	return append(b, 0)
}

// ErrOrder means that a message between a Launcher and its helper is invalid.
var ErrOrder = errors.New("a broken order")

// DecodeOrder decodes what Encode returned. The error is ErrOrder.
func DecodeOrder(b []byte) (o Order, err error) {
	num := func() int {
		if len(b) < 4 {
			err, b = ErrOrder, nil
			return 0
		}
		n := binary.LittleEndian.Uint32(b)
		b = b[4:]
		if n > MaxPayload {
			err = ErrOrder
			return 0
		}
		return int(n)
	}
	str := func() string {
		n := num()
		if n > len(b) {
			err, b = ErrOrder, nil
			return ""
		}
		s := string(b[:n])
		b = b[n:]
		return s
	}
	list := func() []string {
		var l []string
		for n := num(); n > 0 && err == nil; n-- {
			l = append(l, str())
		}
		return l
	}
	o = Order{Path: str(), Dir: str()}
	o.Args, o.Env, o.Files = list(), list(), num()
	if err == nil && (len(b) != 1 || b[0] > 1) {
		return o, ErrOrder
	}
	if err == nil {
		o.Terminal = b[0] == 1
	}
	return o, err
}
