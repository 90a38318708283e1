package dscode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/hostsup/hostsup/codec"
)

// said is a record of the stream as text: conn, number, body.
func said(t testing.TB, b []byte) []string {
	t.Helper()
	var out []string
	for len(b) > 0 {
		if len(b) < LabelSize+Header {
			t.Fatalf("%d bytes left: %q", len(b), b)
		}
		l := ReadLabel(b)
		n := binary.BigEndian.Uint32(b[LabelSize:])
		b = b[LabelSize+Header:]
		out = append(out, fmt.Sprintf("%c%d.%d %s", l.What, l.Conn, l.Number, b[:n]))
		b = b[n:]
	}
	return out
}

func framed(body string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func from(conn uint32, body string) []byte {
	return append(Label{Frame, conn, 0}.Append(nil), framed(body)...)
}

func must(t testing.TB, s codec.Session, dst []byte, m codec.Message) []byte {
	t.Helper()
	b, err := s.Append(dst, &m)
	if err != nil {
		t.Fatalf("%+v: %v", m, err)
	}
	return b
}

// all reads until the end.
func all(s codec.Session, b []byte) (out []codec.Message, err error) {
	r := s.NewReader(iotest.OneByteReader(bytes.NewReader(b)))
	for {
		var m codec.Message
		if err := r.Next(&m); err != nil {
			return out, err
		}
		out = append(out, m)
	}
}

func TestWhatWeSay(t *testing.T) {
	s := (Language{}).Open(codec.Limits{})
	var b []byte
	b = must(t, s, b, codec.Message{Kind: codec.Request, ID: 2, Method: "a/b", Params: codec.Raw(`[1]`)})
	b = must(t, s, b, codec.Message{Kind: codec.Notification, Method: "q\"\\\x01é"})
	b = must(t, s, b, codec.Message{Kind: codec.Request, ID: 3, Method: "c", Trace: codec.Trace{Parent: "x"}, Progress: true})
	b = must(t, s, b, codec.Message{Kind: codec.Notification, Method: "d", ID: 7})
	want := []string{
		`f0.1 {"id":"req_2","type":"a/b","payload":[1]}`,
		`f0.2 {"id":"msg_1","type":"q\"\\\u0001é","payload":null}`,
		`f0.3 {"id":"req_3","type":"c","payload":null}`,
		`f0.4 {"id":"msg_2","type":"d","payload":null}`,
	}
	if d := cmp.Diff(want, said(t, b)); d != "" {
		t.Error(d)
	}
}

func TestWhatIsNotSaid(t *testing.T) {
	s := (Language{}).Open(codec.Limits{Frame: 100})
	for _, tc := range []struct {
		m    codec.Message
		want error
	}{
		{codec.Message{Kind: codec.Request, Method: "a"}, codec.ErrShape},
		{codec.Message{Kind: codec.Request, ID: 1}, codec.ErrShape},
		{codec.Message{Kind: codec.Notification}, codec.ErrShape},
		{codec.Message{Kind: codec.Notification, Method: "\xff"}, codec.ErrShape},
		{codec.Message{Kind: codec.Notification, Method: strings.Repeat("a", MaxMethod+1)}, codec.ErrString},
		{codec.Message{Kind: codec.Notification, Method: strings.Repeat("a", 99)}, codec.ErrTooLarge},
		{codec.Message{Kind: codec.Notification, Method: "a", Params: make(codec.Raw, 101)}, codec.ErrTooLarge},
		{codec.Message{Kind: codec.Response, ID: 1}, codec.ErrID},
		{codec.Message{Kind: codec.Response}, codec.ErrID},
		{codec.Message{Kind: codec.Cancel, ID: 1}, codec.ErrShape},
		{codec.Message{Kind: codec.Ack, ID: 1}, codec.ErrShape},
		{codec.Message{Kind: codec.Item, ID: 1}, codec.ErrShape},
		{codec.Message{Kind: codec.Credit, ID: 1}, codec.ErrShape},
	} {
		dst := []byte("before")
		got, err := s.Append(dst, &tc.m)
		var frame *codec.FrameError
		if !errors.As(err, &frame) || !errors.Is(err, tc.want) || string(got) != "before" {
			t.Errorf("%+v: %q, %v", tc.m, got, err)
		}
	}
	// None of them counts.
	b := must(t, s, nil, codec.Message{Kind: codec.Notification, Method: "a"})
	if d := cmp.Diff([]string{`f0.1 {"id":"msg_1","type":"a","payload":null}`}, said(t, b)); d != "" {
		t.Error(d)
	}
}

func TestAnswersOfTheHost(t *testing.T) {
	s := (Language{}).Open(codec.Limits{})
	var in []byte
	for _, body := range []string{
		`{"id":"req_2","type":"a-response","payload":{"x":[1,"two"]}}`,
		` { "payload" : null , "type":"a-response","id":"req_3", "more":[{}] } `,
		`{"id":"req_4","type":"a-error","payload":{"error":"no\u0020way"}}`,
		`{"id":"req_5","type":"a-error","payload":{"error":7}}`,
		`{"id":"req_6","type":"a-error","payload":null}`,
		`{"id":"msg_1","type":"a-response","payload":{}}`,
		`{"id":"req_7","type":"a-response"}`,
		`{"i\u0064":"req_8","type":"whatever","payload":false}`,
	} {
		in = append(in, from(0, body)...)
	}
	got, err := all(s, in)
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	for i := range got {
		got[i].Size = 0
	}
	want := []codec.Message{
		{Kind: codec.Response, ID: 2, Result: codec.Raw(`{"x":[1,"two"]}`)},
		{Kind: codec.Response, ID: 3},
		{Kind: codec.Response, ID: 4, Err: &codec.Error{Message: "no way"}},
		{Kind: codec.Response, ID: 5, Err: &codec.Error{Message: "unknown error", Data: codec.Raw(`{"error":7}`)}},
		{Kind: codec.Response, ID: 6, Err: &codec.Error{Message: "unknown error"}},
		{Kind: codec.Response, ID: 7},
		{Kind: codec.Response, ID: 8, Result: codec.Raw(`false`)},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestRequestsOfTheHost(t *testing.T) {
	s := (Language{}).Open(codec.Limits{})
	var in []byte
	in = append(in, from(1, `{"id":"req_1","type":"read","payload":1}`)...)
	in = append(in, from(2, `{"id":"req_1","type":"read","payload":2}`)...)
	in = append(in, from(1, `{"id":"msg_1","type":"log","payload":3}`)...)
	in = append(in, from(1, `{"id":"","type":"stat","payload":4}`)...)
	in = append(in, from(3, `{"id":"\"x\ud83d\ude00","type":"w\n","payload":5}`)...)
	in = append(in, Label{End, 1, 0}.Append(nil)...)
	got, err := all(s, in)
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	for i := range got {
		got[i].Size = 0
	}
	want := []codec.Message{
		{Kind: codec.Request, ID: 1, Method: "read", Params: codec.Raw("1")},
		{Kind: codec.Request, ID: 2, Method: "read", Params: codec.Raw("2")},
		{Kind: codec.Notification, Method: "log", Params: codec.Raw("3")},
		{Kind: codec.Request, ID: 3, Method: "stat", Params: codec.Raw("4")},
		{Kind: codec.Request, ID: 4, Method: "w\n", Params: codec.Raw("5")},
		{Kind: codec.Cancel, ID: 1},
		{Kind: codec.Cancel, ID: 3},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
	var out []byte
	out = must(t, s, out, codec.Message{Kind: codec.Response, ID: 4, Result: codec.Raw(`[]`)})
	out = must(t, s, out, codec.Message{Kind: codec.Response, ID: 1, Result: codec.Raw(`"too late"`)})
	out = must(t, s, out, codec.Message{Kind: codec.Response, ID: 2, Err: &codec.Error{Name: "Denied", Message: `not "you"`}})
	wantOut := []string{
		`f3.0 {"id":"\"x😀","type":"w\n-response","payload":[]}`,
		`f2.0 {"id":"req_1","type":"read-error","payload":{"error":"Denied: not \"you\""}}`,
	}
	wantOut[0] = strings.Replace(wantOut[0], "\n", `\n`, 1)
	if d := cmp.Diff(wantOut, said(t, out)); d != "" {
		t.Error(d)
	}
	if in := s.(*session); len(in.open) != 0 || len(in.conns) != 0 {
		t.Errorf("left: %v %v", in.open, in.conns)
	}
	// Answered twice: nothing is said, and nobody is harmed.
	if b := must(t, s, nil, codec.Message{Kind: codec.Response, ID: 4}); len(b) != 0 {
		t.Errorf("%q", b)
	}
	if _, err := s.Append(nil, &codec.Message{Kind: codec.Response, ID: 5}); !errors.Is(err, codec.ErrID) {
		t.Error(err)
	}
}

// An answer that cannot be sent leaves the request open for another.
func TestAnswerOverTheLimit(t *testing.T) {
	s := (Language{}).Open(codec.Limits{Frame: 200})
	if _, err := all(s, from(1, `{"id":"r","type":"read"}`)); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	big := codec.Raw(`"` + strings.Repeat("x", 190) + `"`)
	if b, err := s.Append(nil, &codec.Message{Kind: codec.Response, ID: 1, Result: big}); !errors.Is(err, codec.ErrTooLarge) || len(b) != 0 {
		t.Fatal(err)
	}
	b := must(t, s, nil, codec.Message{Kind: codec.Response, ID: 1, Err: &codec.Error{Message: "too large"}})
	if d := cmp.Diff([]string{`f1.0 {"id":"r","type":"read-error","payload":{"error":"too large"}}`}, said(t, b)); d != "" {
		t.Error(d)
	}
}

func TestLostConnection(t *testing.T) {
	s := (Language{}).Open(codec.Limits{})
	var out []byte
	for id := uint32(2); id <= 6; id++ {
		out = must(t, s, out, codec.Message{Kind: codec.Request, ID: id, Method: "a"})
		out = must(t, s, out, codec.Message{Kind: codec.Notification, Method: "n"})
	}
	var in []byte
	in = append(in, from(0, `{"id":"req_3","type":"a-response","payload":1}`)...)
	in = append(in, Label{End, 0, 5}.Append(nil)...) // requests 2, 3 and 4 had been written
	in = append(in, from(0, `{"id":"req_5","type":"a-response","payload":1}`)...)
	in = append(in, Label{End, 0, 8}.Append(nil)...)
	got, err := all(s, in)
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range got {
		name := ""
		if m.Err != nil {
			name = m.Err.Name
		}
		ids = append(ids, fmt.Sprint(m.ID, name))
	}
	if d := cmp.Diff([]string{"3", "2" + NameConnectionLost, "4" + NameConnectionLost, "5"}, ids); d != "" {
		t.Error(d)
	}
	if n := len(s.(*session).ours.number); n != 1 {
		t.Errorf("%d requests open, want that of id 6", n)
	}
}

// Callers that give up say nothing: what they leave behind is bounded.
func TestRequestsThatAreNeverAnswered(t *testing.T) {
	s := (Language{}).Open(codec.Limits{}).(*session)
	var b []byte
	for id := uint32(1); id <= 3*maxAsked; id++ {
		b = must(t, s, b[:0], codec.Message{Kind: codec.Request, ID: id, Method: "a"})
		if id%5 != 0 {
			s.answered(id)
		}
	}
	for id := uint32(3*maxAsked + 1); id <= 5*maxAsked; id++ {
		b = must(t, s, b[:0], codec.Message{Kind: codec.Request, ID: id, Method: "a"})
	}
	if len(s.ours.number) != maxAsked || len(s.ours.order) > 3*maxAsked+1024 {
		t.Errorf("%d open, %d in order", len(s.ours.number), len(s.ours.order))
	}
	ids := s.lost(s.number)
	if len(ids) != maxAsked || ids[0] != 4*maxAsked+1 || ids[len(ids)-1] != 5*maxAsked {
		t.Errorf("%d ids from %d", len(ids), ids[0])
	}
}

func TestTooManyOpenRequests(t *testing.T) {
	s := (Language{}).Open(codec.Limits{})
	var in []byte
	for i := range MaxOpen + 1 {
		in = append(in, from(uint32(1+i%3), fmt.Sprintf(`{"id":"req_%d","type":"wait"}`, i))...)
	}
	got, err := all(s, in)
	if len(got) != MaxOpen || !errors.Is(err, codec.ErrElements) || !strings.Contains(err.Error(), `request "wait" of the host: 4096 requests of its own are open already`) {
		t.Errorf("%d, %v", len(got), err)
	}
}

func TestHandshakeIsNone(t *testing.T) {
	p := Language{}
	if d := p.Defaults(); p.Name() != "dscode" || d.Transport != "" || !d.NeverKill {
		t.Errorf("%s %+v", p.Name(), d)
	}
	s := p.Open(codec.Limits{Frame: 1 << 30})
	if s.(*session).lim.Frame != MaxFrame {
		t.Error("a frame may be longer than the protocol allows")
	}
	hs := s.Handshake(codec.Hello{})
	out, done := hs.Start()
	if len(out) != 0 || !done || hs.Peer().Caps != codec.CapAbandon || s.Ping() != "" {
		t.Errorf("%v %v %+v %q", out, done, hs.Peer(), s.Ping())
	}
	if ask, last := s.Goodbye(); ask != nil || last != nil {
		t.Errorf("%v %v", ask, last)
	}
}
