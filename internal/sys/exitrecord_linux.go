package sys

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// ExitRecord is an [Exit] that one process sends to another process of the same
// program: kind, core, alone, a byte unused, errno, code, signal, user, system, peak of
// memory, 8 bytes unused, in the byte order of the processor.
type ExitRecord [48]byte

// Offsets in an ExitRecord.
const (
	recordCore   = 1
	recordAlone  = 2
	recordErrno  = 4
	recordCode   = 8
	recordSignal = 12
	recordUser   = 16
	recordSystem = 24
	recordRSS    = 32
)

// Record returns e as a record of a kind.
func (e *Exit) Record(kind byte, errno int32) (r ExitRecord) {
	r[0] = kind
	if e.Core {
		r[recordCore] = 1
	}
	r.put32(recordErrno, errno)
	r.put32(recordCode, int32(e.Code))
	r.put32(recordSignal, int32(e.Signal))
	r.put64(recordUser, e.Usage.User)
	r.put64(recordSystem, e.Usage.System)
	r.put64(recordRSS, e.Usage.MaxRSS)
	return r
}

// Exit decodes what Record returned.
func (r *ExitRecord) Exit() (kind byte, errno int32, e Exit) {
	i32 := func(at int) int32 { return *(*int32)(unsafe.Pointer(&r[at])) }
	i64 := func(at int) int64 { return *(*int64)(unsafe.Pointer(&r[at])) }
	return r[0], i32(recordErrno), Exit{
		Code: int(i32(recordCode)), Signal: int(i32(recordSignal)), Core: r[recordCore] == 1,
		Usage: Usage{User: i64(recordUser), System: i64(recordSystem), MaxRSS: i64(recordRSS)},
	}
}

// SetAlone records that the process left no other process behind.
//
//go:norace
//go:nosplit
func (r *ExitRecord) SetAlone() { r[recordAlone] = 1 }

// Alone reports whether SetAlone was called.
func (r *ExitRecord) Alone() bool { return r[recordAlone] == 1 }

//go:norace
//go:nosplit
func (r *ExitRecord) put32(at uintptr, v int32) {
	*(*int32)(unsafe.Add(unsafe.Pointer(r), at)) = v
}

//go:norace
//go:nosplit
func (r *ExitRecord) put64(at uintptr, v int64) {
	*(*int64)(unsafe.Add(unsafe.Pointer(r), at)) = v
}

// end stores the result of wait4, without the Go runtime; see exitOf.
//
//go:norace
//go:nosplit
func (r *ExitRecord) end(status uint32, u *unix.Rusage) {
	code, signal, core := int32(-1), int32(status&0x7f), byte(status>>7&1)
	if signal == 0 {
		code, core = int32(status>>8&0xff), 0
	}
	r[recordCore] = core
	r.put32(recordErrno, 0)
	r.put32(recordCode, code)
	r.put32(recordSignal, signal)
	r.put64(recordUser, int64(u.Utime.Sec)*1e9+int64(u.Utime.Usec)*1e3)
	r.put64(recordSystem, int64(u.Stime.Sec)*1e9+int64(u.Stime.Usec)*1e3)
	r.put64(recordRSS, int64(u.Maxrss)*maxRSSUnit)
}
