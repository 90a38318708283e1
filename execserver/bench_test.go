package execserver

import (
	"context"
	"io"
	"testing"

	"github.com/coder/websocket"

	"github.com/hostsup/hostsup/execserver/wire"
)

// BenchmarkOutput is how fast the output of one process comes through, from a
// server that does nothing but write it.
func BenchmarkOutput(b *testing.B) {
	for _, size := range []int{wire.ChunkBytes, 64 << 10} {
		name := "8KiB"
		if size > wire.ChunkBytes {
			name = "64KiB"
		}
		b.Run(name, func(b *testing.B) { benchmarkOutput(b, size) })
	}
}

func benchmarkOutput(b *testing.B, size int) {
	data := make([]byte, size)
	ctx := context.Background()
	e := webServer(b, func(conn *websocket.Conn) {
		for {
			_, msg, err := conn.Read(ctx)
			if err != nil {
				return
			}
			m, err := wire.Decode(msg)
			if err != nil || m.Kind != wire.KindRequest {
				continue
			}
			var result any = wire.Empty{}
			if m.Method == wire.MethodInitialize {
				result = wire.InitializeResult{SessionID: "s-1"}
			}
			reply, _ := wire.AppendResult(nil, m.ID, result)
			if conn.Write(ctx, websocket.MessageText, reply) != nil {
				return
			}
			if m.Method != wire.MethodProcessStart {
				continue
			}
			var buf []byte
			for q := range uint64(b.N) {
				buf = wire.AppendOutput(buf[:0], []byte(`"p"`), q+1, wire.Stdout, data)
				if conn.Write(ctx, websocket.MessageText, buf) != nil {
					return
				}
			}
			_ = conn.Write(ctx, websocket.MessageText, wire.AppendExited(nil, []byte(`"p"`), uint64(b.N)+1, 0, false))
			_ = conn.Write(ctx, websocket.MessageText, wire.AppendClosed(nil, []byte(`"p"`), uint64(b.N)+2))
		}
	})
	c := New(e, Options{})
	defer c.Close()
	if err := c.Connect(ctx); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	_, sub, err := c.StartSubscribed(ctx, wire.ProcessStartParams{ProcessID: "p", Argv: []string{"x"}}, Keep)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := sub.Copy(ctx, io.Discard, io.Discard); err != nil {
		b.Fatal(err)
	}
}
