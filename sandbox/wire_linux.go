//go:build !hostsup_posix

package sandbox

import (
	"encoding/binary"
	"errors"

	"github.com/hostsup/hostsup/internal/sys"
)

// What the Launcher and its helper processes say to each other on the
// helper's descriptor 3.
//
//	launcher → helper   one hello: magic, role, u32 length, payload
//	                    then single bytes: sayGo, later sayKill
//	                    the end of the stream: the launcher is gone or done
//	helper → launcher   reports of reportSize bytes
//
// Both are the same binary, so there is no version.
const (
	helperName = "hostsup-keeper"
	helperVar  = "HOSTSUP_KEEPER" // set to helperFD
	helperFD   = 3
	magic      = "hostsup\x00"
	sayGo      = 'g' // the started command is known; it may be reaped
	sayKill    = 'k'
	maxPayload = 16 << 20 // several times what execve takes
)

// role is what a helper is for.
type role byte

const (
	roleTest   role = 't' // says ready and ends: does a helper work here?
	roleKeeper role = 'c' // payload: the path of the cgroup, which is open on descriptor 4
	roleInit   role = 'i' // payload: a command; pid 1 of its namespace
	roleReaper role = 'r' // payload: a command; inherits its orphans and hunts them
)

// report is what a helper says.
type report struct {
	kind  byte
	errno int32 // reportFailed, reportBroken
	exit  sys.Exit
}

const (
	reportReady   = 'r'
	reportStarted = 's' // the command runs; its pidfd comes with it
	reportFailed  = 'f' // it could not be started
	reportBroken  = 'b' // the helper itself could not do its work
	reportExit    = 'x' // it has ended
	reportSize    = 48
)

func (r report) encode() []byte {
	b := make([]byte, reportSize)
	b[0] = r.kind
	if r.exit.Core {
		b[1] = 1
	}
	le := binary.LittleEndian
	le.PutUint32(b[4:], uint32(r.errno))
	le.PutUint32(b[8:], uint32(int32(r.exit.Code)))
	le.PutUint32(b[12:], uint32(int32(r.exit.Signal)))
	le.PutUint64(b[16:], uint64(r.exit.Usage.User))
	le.PutUint64(b[24:], uint64(r.exit.Usage.System))
	le.PutUint64(b[32:], uint64(r.exit.Usage.MaxRSS))
	return b
}

func decodeReport(b []byte) report {
	le := binary.LittleEndian
	return report{
		kind:  b[0],
		errno: int32(le.Uint32(b[4:])),
		exit: sys.Exit{
			Core:   b[1] == 1,
			Code:   int(int32(le.Uint32(b[8:]))),
			Signal: int(int32(le.Uint32(b[12:]))),
			Usage: sys.Usage{
				User:   int64(le.Uint64(b[16:])),
				System: int64(le.Uint64(b[24:])),
				MaxRSS: int64(le.Uint64(b[32:])),
			},
		},
	}
}

// hello is the first message to a helper.
func hello(r role, payload []byte) []byte {
	b := make([]byte, 0, len(magic)+5+len(payload))
	b = append(b, magic...)
	b = append(b, byte(r))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(payload)))
	return append(b, payload...)
}

// order is the part of a Command that a helper is told; the descriptors are
// its own from helperFD+1 on.
type order struct {
	path, dir string
	args, env []string
	files     int
	terminal  bool // descriptor 0 is to be the controlling one
}

func (o *order) encode() []byte {
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
	str(o.path)
	str(o.dir)
	list(o.args)
	list(o.env)
	b = binary.LittleEndian.AppendUint32(b, uint32(o.files))
	if o.terminal {
		return append(b, 1)
	}
	return append(b, 0)
}

var errOrder = errors.New("a broken order")

func decodeOrder(b []byte) (o order, err error) {
	num := func() int {
		if len(b) < 4 {
			err, b = errOrder, nil
			return 0
		}
		n := binary.LittleEndian.Uint32(b)
		b = b[4:]
		if n > maxPayload {
			err = errOrder
			return 0
		}
		return int(n)
	}
	str := func() string {
		n := num()
		if n > len(b) {
			err, b = errOrder, nil
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
	o = order{path: str(), dir: str()}
	o.args, o.env, o.files = list(), list(), num()
	if err == nil && (len(b) != 1 || b[0] > 1) {
		return o, errOrder
	}
	if err == nil {
		o.terminal = b[0] == 1
	}
	return o, err
}
