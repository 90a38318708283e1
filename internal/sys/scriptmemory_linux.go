package sys

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// scriptMemory is memory of a script outside of the Go heap: a process that has
// unmapped the heap can continue with the script. It is taken from the system in
// pieces, the first of which holds most scripts.
type scriptMemory struct {
	pieces [][]byte
	free   []byte // of the last piece
	err    error  // why there is no more; allocated memory must not be used then
}

// pieceSize is the size of a piece, or its divisor. It is a multiple of the page
// size, so that the memory between pieces can be unmapped. Unused pages cost
// nothing.
const pieceSize = 1 << 20

func (m *scriptMemory) alloc(size uintptr) unsafe.Pointer {
	size = (size + 15) &^ 15
	if uintptr(len(m.free)) < size {
		piece, err := unix.Mmap(-1, 0, int((size+pieceSize-1)/pieceSize*pieceSize), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		if err != nil {
			m.err = err
			piece = make([]byte, size)
		} else {
			m.pieces = append(m.pieces, piece)
		}
		m.free = piece
	}
	p := unsafe.Pointer(&m.free[0])
	m.free = m.free[size:]
	return p
}

func (m *scriptMemory) release() {
	for _, p := range m.pieces {
		_ = unix.Munmap(p)
	}
	m.pieces, m.free = nil, nil
}
