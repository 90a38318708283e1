package execserver

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/execserver/wire"
)

// What the fast way accepts, the strict one reads the same.
func FuzzScanOutput(f *testing.F) {
	for _, s := range []string{
		`{"method":"process/output","params":{"processId":"p","seq":1,"stream":"stdout","chunk":"aGk="}}`,
		`{"method":"process/output","params":{"chunk":"","stream":"pty","processId":"","seq":18446744073709551615}}`,
		`{"method":"process/output","params":{"processId":"p","seq":01,"stream":"stdout","chunk":"aGk="}}`,
		`{"method":"process/output","params":{"processId":"p","seq":1,"seq":2,"stream":"stdout","chunk":"aGk="}}`,
		`{"method":"process/output","params":{"processId":"\u0070","seq":1,"stream":"stdout","chunk":"aGk="}}`,
		`{"method":"process/output","params":{"processId":"p","seq":1,"stream":"stdout","chunk":"aGk="}} `,
		`{"method":"process/output","params":{"processId":"p","seq":1,"stream":"stdout","chunk":"aGk=","x":"y"}}`,
		`{"method":"process/output","params":{"processId":"p","seq":1,"stream":"stdout","chunk":"` + strings.Repeat("AAAA", 100) + `"}}`,
		`{"method":"process/output","params":{"processId":"p","seq":1,"stream":"stdout","chunk":"` + strings.Repeat("AAAA", 100) + "\n" + `"}}`,
		`{"method":"process/output","params":{"processId":"` + strings.Repeat("\xff", shortString+1) + `","seq":1,"stream":"stdout","chunk":"aGk="}}`,
		`{"method":"process/output","params":{"processId":"p","seq":1,"stream":"` + strings.Repeat("\x7f", shortString+1) + `","chunk":"aGk="}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, msg []byte) {
		o, ok := scanOutput(msg)
		if !ok {
			return
		}
		m, err := wire.Decode(msg)
		if err != nil {
			t.Fatalf("%q: %v", msg, err)
		}
		var want wire.ProcessOutput
		if err := json.Unmarshal(m.Params, &want); err != nil {
			t.Fatalf("%q: %v", msg, err)
		}
		if string(o.process) != want.ProcessID || o.event.Seq != want.Seq || o.event.Stream != want.Stream || string(o.event.Data) != string(want.Chunk) {
			t.Fatalf("%q: %+v, want %+v", msg, o, want)
		}
	})
}

// What our own server writes takes the fast way.
func TestScanOutput(t *testing.T) {
	data := strings.Repeat("\x00data\xff", 3000)
	o, ok := scanOutput(wire.AppendOutput(nil, []byte(`"12-abc"`), 1<<40, wire.Stderr, []byte(data)))
	if !ok || string(o.process) != "12-abc" || o.event.Seq != 1<<40 || o.event.Stream != wire.Stderr || string(o.event.Data) != data || o.event.Kind != Output {
		t.Errorf("%v %+v", ok, o)
	}
}

func BenchmarkScanOutput(b *testing.B) {
	msg := wire.AppendOutput(nil, []byte(`"12-abc"`), 123456, wire.Stdout, make([]byte, wire.ChunkBytes))
	b.SetBytes(wire.ChunkBytes)
	for b.Loop() {
		if _, ok := scanOutput(msg); !ok {
			b.Fatal("not taken")
		}
	}
}
