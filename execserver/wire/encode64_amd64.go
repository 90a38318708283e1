//go:build !purego

package wire

import (
	"encoding/base64"

	"golang.org/x/sys/cpu"
)

// encodeBlocks encodes blocks of 24 bytes into 32 letters each. It reads 4
// bytes beyond the last block. It takes AVX2.
//
//go:noescape
func encodeBlocks(dst, src *byte, blocks int)

// encode64 encodes src into dst, which has exactly the room. The standard
// library takes a third of the speed from output of 256 MiB: docs/dependencies.md
// has the figures.
func encode64(dst, src []byte) {
	if cpu.X86.HasAVX2 && len(src) >= 28 {
		n := (len(src) - 4) / 24
		encodeBlocks(&dst[0], &src[0], n)
		dst, src = dst[32*n:], src[24*n:]
	}
	base64.StdEncoding.Encode(dst, src)
}
