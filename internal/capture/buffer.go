package capture

import (
	"sync"
	"sync/atomic"
)

// Sizes of read buffers. A stream starts with the smallest and takes the next
// when a read filled the one before.
var bufferSizes = [...]int{4 << 10, 32 << 10, 256 << 10}

const (
	largest = len(bufferSizes) - 1

	// maxLarge bounds the largest buffers that fast streams use at once, so that
	// very many busy hosts on a slow disk share 8 MiB.
	maxLarge = 32
)

// buffers are caches of unowned memory that the collector empties. They only make
// the program faster.
var (
	buffers     [len(bufferSizes)]sync.Pool
	largeInUse  atomic.Int32
	scratchPool = sync.Pool{New: func() any { return new(scratch) }}
)

type buffer struct {
	data  []byte
	class int
}

// takeBuffer returns a buffer of the given class, or a larger one when rest bytes
// would fill more than half of it.
func takeBuffer(class, rest int) *buffer {
	if class == largest && largeInUse.Load() >= maxLarge {
		class--
	}
	for class < largest && 2*rest > bufferSizes[class] {
		class++
	}
	if class == largest {
		largeInUse.Add(1)
	}
	if b, ok := buffers[class].Get().(*buffer); ok {
		return b
	}
	return &buffer{data: make([]byte, bufferSizes[class]), class: class}
}

func (b *buffer) release() {
	if b.class == largest {
		largeInUse.Add(-1)
	}
	buffers[b.class].Put(b)
}
