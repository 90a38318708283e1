//go:build !amd64 || purego

package wire

import "encoding/base64"

// encode64 encodes src into dst, which has exactly the room.
func encode64(dst, src []byte) { base64.StdEncoding.Encode(dst, src) }
