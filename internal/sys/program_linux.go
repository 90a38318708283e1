package sys

import (
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Entries of the auxiliary vector, and of a program header.
const (
	auxPhdr, auxPhnum, auxVDSO = 3, 5, 33

	segmentLoad, segmentHeader = 1, 6
	segmentWritable            = 2
)

// segment is the program header of a 64-bit program.
type segment struct {
	kind, flags uint32
	_           uint64 // offset in the file
	address     uint64
	_, _        uint64 // physical address, size in the file
	mem         uint64
	_           uint64 // alignment
}

// programRanges returns the ranges of addresses without which a process cannot run:
// this program's, and those of the kernel's own code in it. It also returns which of
// them are writable.
var programRanges = sync.OnceValue(func() (r struct {
	keep, data [][2]uintptr
	ok         bool
}) {
	aux, err := unix.Auxv()
	if err != nil || unsafe.Sizeof(uintptr(0)) != 8 {
		return r
	}
	var table, n, vdso uintptr
	for _, a := range aux {
		switch a[0] {
		case auxPhdr:
			table = a[1]
		case auxPhnum:
			n = a[1]
		case auxVDSO:
			vdso = a[1]
		}
	}
	if table == 0 || n == 0 {
		return r
	}
	segments := unsafe.Slice(*(**segment)(unsafe.Pointer(&table)), n)
	base := uintptr(0)
	for _, s := range segments {
		if s.kind == segmentHeader {
			base, r.ok = table-uintptr(s.address), true
		}
	}
	page := uintptr(unix.Getpagesize())
	for _, s := range segments {
		if s.kind != segmentLoad {
			continue
		}
		at := [2]uintptr{(base + uintptr(s.address)) &^ (page - 1), (base + uintptr(s.address+s.mem) + page - 1) &^ (page - 1)}
		r.keep = append(r.keep, at)
		if s.flags&segmentWritable != 0 {
			r.data = append(r.data, at)
		}
	}
	if vdso != 0 {
		const around = 64 << 10 // its data is next to it
		r.keep = append(r.keep, [2]uintptr{vdso - around, vdso + around})
	}
	return r
})

// program returns a copy of programRanges that the caller may change, or false if
// they are unknown.
func program() (keep, data [][2]uintptr, ok bool) {
	r := programRanges()
	return append([][2]uintptr(nil), r.keep...), r.data, r.ok
}
