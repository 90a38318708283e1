package wire

import (
	"bytes"
	"encoding/base64"
	"math/rand/v2"
	"testing"
)

func TestBase64IsStandard(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	room := bytes.Repeat([]byte{'!'}, 1<<12)
	for n := range 1500 {
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		got := AppendBase64(append(room[:0], "ab"...), data)
		if want := "ab" + base64.StdEncoding.EncodeToString(data); string(got) != want {
			t.Fatalf("%d bytes: %s, want %s", n, got, want)
		}
		if room[len(got)] != '!' {
			t.Fatalf("%d bytes: it wrote beyond its room", n)
		}
		for i := range got {
			room[i] = '!'
		}
	}
	all := make([]byte, 0, 3*64*64)
	for a := range 64 { // every pair of sextets
		for b := range 64 {
			v := a<<18 | b<<12 | a<<6 | b
			all = append(all, byte(v>>16), byte(v>>8), byte(v))
		}
	}
	if string(AppendBase64(nil, all)) != base64.StdEncoding.EncodeToString(all) {
		t.Error("some letter is wrong")
	}
}

// BenchmarkEncode64 measures what this build uses; with the build tag purego
// that is the standard library.
func BenchmarkEncode64(b *testing.B) {
	src := make([]byte, 64<<10)
	for i := range src {
		src[i] = byte(7 * i)
	}
	dst := make([]byte, 0, base64.StdEncoding.EncodedLen(len(src)))
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		AppendBase64(dst, src)
	}
}

func FuzzBase64(f *testing.F) {
	f.Add([]byte("eHh4"), []byte("some bytes that are encoded, of which there are more than fit one block"))
	f.Fuzz(func(t *testing.T, in, data []byte) {
		if got := AppendBase64(nil, data); string(got) != base64.StdEncoding.EncodeToString(data) {
			t.Fatalf("%x became %s", data, got)
		}
		out, err := DecodeBase64(in)
		want, werr := base64.StdEncoding.Strict().DecodeString(string(in))
		switch {
		case err == nil && (werr != nil || !bytes.Equal(out, want)):
			t.Fatalf("%q was taken as %x; the library says %x, %v", in, out, want, werr)
		case err != nil && werr == nil && !bytes.ContainsAny(in, "\r\n"):
			t.Fatalf("%q: %v", in, err)
		}
	})
}
