package jsonrpc_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
)

// TestAppendParts: the parts are what Append makes, a long payload is not copied, and what
// is put behind the last part changes no payload.
func TestAppendParts(t *testing.T) {
	long := `{"text":"` + strings.Repeat("0123456789", 20_000) + `"}`
	for name, p := range map[string]codec.Protocol{"lines": jsonrpc.Lines(jsonrpc.Options{}), "headers": jsonrpc.Headers(jsonrpc.Options{})} {
		for _, text := range []string{`{}`, long, "\n" + long, long + "\r\n", long[:4*codec.PartEdge], "{" + strings.Repeat(" ", 4*codec.PartEdge-2) + "}"} {
			payload := codec.Raw(text)
			m := codec.Message{Kind: codec.Notification, Method: "m", Params: payload}
			s := p.Open(codec.Limits{})
			want, err := s.Append(nil, &m)
			if err != nil {
				t.Fatal(err)
			}
			first := []byte("before")
			parts, err := s.Features().AppendParts([][]byte{first}, &m)
			if err != nil {
				t.Fatal(err)
			}
			if string(parts[0]) != "before" {
				t.Errorf("%s: what was there is %q", name, parts[0])
			}
			if got := bytes.Join(parts[1:], nil); !bytes.Equal(got, want) {
				t.Errorf("%s: %d bytes in %d parts, want %d: %.60q", name, len(got), len(parts)-1, len(want), got)
			}
			blank := name == "lines" && strings.ContainsAny(text, "\r\n")
			if isLong := len(text) >= 4*codec.PartEdge && !blank; isLong != (len(parts) == 4) {
				t.Errorf("%s: %d parts of %d bytes", name, len(parts)-1, len(text))
			} else if isLong && &parts[2][0] != &payload[codec.PartEdge] {
				t.Errorf("%s: the middle of %d bytes is a copy", name, len(text))
			}
			for i := range parts {
				_ = append(parts[i], "something behind it"...)
			}
			if string(payload) != text || !bytes.Equal(bytes.Join(parts[1:], nil), want) {
				t.Errorf("%s: appending to the parts of %d bytes changes them", name, len(text))
			}
		}
	}
}

func TestAppendPartsRefuses(t *testing.T) {
	s := jsonrpc.Lines(jsonrpc.Options{}).Open(codec.Limits{Frame: 100_000})
	m := codec.Message{Kind: codec.Notification, Method: "m", Params: codec.Raw(`["` + strings.Repeat("x", 100_000) + `"]`)}
	parts, err := s.Features().AppendParts([][]byte{{1}}, &m)
	if !errors.Is(err, codec.ErrTooLarge) || len(parts) != 1 {
		t.Errorf("%d parts, %v", len(parts), err)
	}
}
