package survive

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
)

// TestFramings cuts streams of messages at random, and compares where messages end.
func TestFramings(t *testing.T) {
	long := strings.Repeat("x", 300)
	for protocol, messages := range map[string][]string{
		"hostsup":         {"\x00\x00\x00\x01a", "\x00\x00\x01\x2c" + long, "\x00\x00\x00\x02bc"},
		"jsonrpc-headers": {"Content-Length: 2\r\n\r\n{}", "Content-Type: " + long + "\r\ncontent-length: 300\r\n\r\n" + long, "Content-Length:3\n\n[1]"},
		"jsonrpc-lines":   {"{}\n", "text\n", long + "\n"},
		"msgpack-rpc":     {"\x94\x00\x01\xa1m\x90", "\x93\x02\xa1m\x91\xda\x01\x2c" + long, "\x94\x01\x01\xc0\xc0"},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		for round := range 200 {
			f := framings[protocol](codec.Limits{}.WithDefaults())
			var stream string
			ends := map[int]bool{0: true}
			for range 20 {
				stream += messages[r.IntN(len(messages))]
				ends[len(stream)] = true
			}
			if err := cut(f, r, stream, ends); err != nil {
				t.Fatalf("%s, round %d: %v", protocol, round, err)
			}
		}
	}
}

// cut gives f the stream in pieces.
func cut(f framing, r *rand.Rand, stream string, ends map[int]bool) error {
	for at := 0; at < len(stream); {
		n := min(1+r.IntN(1+r.IntN(400)), len(stream)-at)
		got := f.scan([]byte(stream[at : at+n]))
		at += n
		want := at
		for !ends[want] {
			want--
		}
		if got != uint64(want) {
			return fmt.Errorf("after %d bytes a message ends at %d, expected %d", at, got, want)
		}
	}
	return nil
}
