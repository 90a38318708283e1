package vscode

import "encoding/binary"

// HeadSize is the size of what each message begins with: its type and its id.
const HeadSize = rpcHeader

// Acknowledge returns the message by which a request that begins with b is
// acknowledged, nil if b is no beginning of a request.
func Acknowledge(b []byte) []byte {
	if len(b) < rpcHeader || b[0] < rpcRequest || b[0] > rpcMixedCancellable {
		return nil
	}
	return binary.BigEndian.AppendUint32([]byte{rpcAck}, binary.BigEndian.Uint32(b[1:]))
}
