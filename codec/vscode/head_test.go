package vscode

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/vscode/persistent"
)

// setValue is the beginning of a call that stores a value.
func setValue(args string) string {
	return head(rpcRequest, 9) + "\x01\x09$setValue" + string(binary.BigEndian.AppendUint32(nil, 80<<20)) + args
}

// A message over the limit is not read, but its beginning tells who has sent it.
func TestMessageOverTheLimitTellsItsSender(t *testing.T) {
	for _, c := range []struct {
		name, message string
		says          string
		request       uint32
		ids           []string
	}{
		{name: "call", message: setValue(`[true,"acme.preview","{\"large\":`), says: `.$setValue for acme.preview`, ids: []string{"acme.preview"}},
		{name: "cut id", message: setValue(`[true,"acme.pre`), says: `.$setValue`},
		{name: "no id", message: setValue(`["setContext","large","xxx`), says: `.$setValue`},
		{name: "answer", message: head(rpcJSON, 258) + "\x05\x00\x00\x00", says: "in the answer to request 258", request: 258},
		{name: "acknowledgement", message: head(rpcAck, 258), says: "limit"},
		{name: "cut", message: "\x09\x00", says: "limit"},
	} {
		s := opened(t, codec.Limits{Frame: 1000})
		frame := framed(c.message + strings.Repeat("x", 2000))
		if c.name == "cut" || c.name == "cut id" {
			frame = frame[:persistent.HeaderSize+len(c.message)]
		}
		var m codec.Message
		err := s.NewReader(strings.NewReader(frame)).Next(&m)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if request, ids := Sender("protocol broken: " + err.Error() + " (messages)"); request != c.request || !slices.Equal(ids, c.ids) {
			t.Errorf("%s: %d, %q of %v", c.name, request, ids, err)
		}
		if got, want := Length("protocol broken: "+err.Error()), int64(binary.BigEndian.Uint32([]byte(frame[persistent.HeaderSize-4:]))); got != want {
			t.Errorf("%s: %d bytes, %d expected, of %v", c.name, got, want, err)
		}
	}
	for _, reason := range []string{"killed by SIGABRT", "many bytes, limit 1000", " bytes, limit "} {
		if got := Length(reason); got != 0 {
			t.Errorf("%q: %d bytes", reason, got)
		}
	}
	if request, ids := Sender("killed by SIGABRT"); request != 0 || ids != nil {
		t.Errorf("%d, %q", request, ids)
	}
}

func FuzzHead(f *testing.F) {
	f.Add([]byte(framed(setValue(`["a.b","c.d"]`))))
	f.Fuzz(func(t *testing.T, frame []byte) {
		s := opened(t, codec.Limits{})
		text := s.describe(frame)
		if _, ids := Sender(text); len(ids) > maxMentions {
			t.Errorf("%q of %q", ids, text)
		}
	})
}
