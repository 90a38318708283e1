package dscode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
)

func TestBadFrames(t *testing.T) {
	deep := strings.Repeat("[", 9) + strings.Repeat("]", 9)
	for name, tc := range map[string]struct {
		in   string
		want error
		text string
	}{
		"empty":              {"\x00\x00\x00\x00", codec.ErrEmpty, "length 0"},
		"text":               {"Traceback (most recent call last):", codec.ErrTooLarge, "1416782179 bytes, limit 2048"},
		"over the limit":     {"\x00\x00\x08\x01{", codec.ErrTooLarge, "2049 bytes, limit 2048"},
		"half a length":      {"\x00\x00", codec.ErrTruncated, "within the length"},
		"half a frame":       {"\x00\x00\x00\x05{}", codec.ErrTruncated, "within 2 of a frame's 5 bytes"},
		"no object":          {string(framed(`[1]`)), codec.ErrShape, "an object expected at byte 0"},
		"nothing":            {string(framed(` `)), codec.ErrTruncated, "the JSON text ends within a value"},
		"no id":              {string(framed(`{"type":"a","payload":1}`)), codec.ErrShape, `no "id"`},
		"no type":            {string(framed(`{"id":"a","payload":1}`)), codec.ErrShape, `no "type"`},
		"empty type":         {string(framed(`{"id":"a","type":""}`)), codec.ErrShape, "type: empty"},
		"id is a number":     {string(framed(`{"id":1,"type":"a"}`)), codec.ErrShape, "id: a string expected at byte 6"},
		"type is null":       {string(framed(`{"id":"a","type":null}`)), codec.ErrShape, "type: a string expected"},
		"two ids":            {string(framed(`{"id":"a","id":"b","type":"c"}`)), codec.ErrShape, `there are two of "id"`},
		"two payloads":       {string(framed(`{"payload":1,"payload":2}`)), codec.ErrShape, `there are two of "payload"`},
		"long id":            {string(framed(`{"id":"` + strings.Repeat("x", MaxID+1) + `","type":"a"}`)), codec.ErrString, "id: 1025 bytes, limit 1024"},
		"long type":          {string(framed(`{"id":"","type":"` + strings.Repeat("x", MaxMethod+1) + `"}`)), codec.ErrString, "type: 1025 bytes, limit 1024"},
		"long string":        {string(framed(`{"payload":"` + strings.Repeat("x", 1501) + `"}`)), codec.ErrString, "limit 1500 bytes"},
		"deep":               {string(framed(`{"payload":` + deep + `}`)), codec.ErrDepth, "limit 8 at byte 18"},
		"many elements":      {string(framed(`{"payload":[` + strings.Repeat("1,", 99) + `1]}`)), codec.ErrElements, "limit 50 in all"},
		"many keys":          {string(framed(`{"payload":{` + strings.Repeat(`"":1,`, 30) + `"":1}}`)), codec.ErrElements, "limit 50 in all"},
		"trailing":           {string(framed(`{"id":"a","type":"b"} {}`)), codec.ErrTrailing, "\"{}\" at byte 22"},
		"cut object":         {string(framed(`{"id":"a"`)), codec.ErrTruncated, "within a value at byte 9"},
		"cut string":         {string(framed(`{"id":"a`)), codec.ErrTruncated, "within a value at byte 8"},
		"cut word":           {string(framed(`{"payload":tru`)), codec.ErrTruncated, "within a value at byte 11"},
		"trailing comma":     {string(framed(`{"id":"a",}`)), codec.ErrByte, `"}" at byte 10`},
		"comma in array":     {string(framed(`{"payload":[1,]}`)), codec.ErrByte, `"]}" at byte 14`},
		"no colon":           {string(framed(`{"id" "a"}`)), codec.ErrByte, `at byte 6`},
		"single quotes":      {string(framed(`{'id':'a'}`)), codec.ErrByte, `at byte 1`},
		"NaN":                {string(framed(`{"payload":NaN}`)), codec.ErrByte, `"NaN}" at byte 11`},
		"leading zero":       {string(framed(`{"payload":01}`)), codec.ErrByte, `"1}" at byte 12`},
		"lone minus":         {string(framed(`{"payload":-}`)), codec.ErrByte, `a number expected, "-}" at byte 11`},
		"no fraction":        {string(framed(`{"payload":1.}`)), codec.ErrByte, `a number expected, "1.}"`},
		"no exponent":        {string(framed(`{"payload":1e+}`)), codec.ErrByte, `a number expected, "1e+}"`},
		"control character":  {string(framed("{\"id\":\"a\nb\"}")), codec.ErrByte, `within a string at byte 8`},
		"bad escape":         {string(framed(`{"id":"\x"}`)), codec.ErrByte, `within a string at byte 7`},
		"bad \\u":            {string(framed(`{"id":"\u12g4"}`)), codec.ErrByte, `within a string at byte 7`},
		"not UTF-8":          {string(framed("{\"id\":\"\xff\"}")), codec.ErrByte, "0xff within a string is not UTF-8 at byte 7"},
		"surrogate in UTF-8": {string(framed("{\"id\":\"\xed\xa0\x80\"}")), codec.ErrByte, "0xed within a string is not UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			for conn := range uint32(2) {
				s := (Language{}).Open(codec.Limits{Frame: 2048, Depth: 8, Elements: 50, String: 1500})
				in := append(from(1, `{"id":"msg_1","type":"first"}`), Label{Frame, conn, 0}.Append(nil)...)
				got, err := all(s, append(in, tc.in...))
				var frame *codec.FrameError
				if len(got) != 1 || !errors.As(err, &frame) || !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.text) {
					t.Fatalf("%v, %v", got, err)
				}
				if len(frame.Bytes) > Evidence || len(frame.Bytes) == 0 {
					t.Errorf("evidence %q", frame.Bytes)
				}
			}
		})
	}
}

func TestWrongIDsOfAnswers(t *testing.T) {
	for _, id := range []string{"", "2", "req_", "req_0", "req_02", "req_+2", "req_-1", "req_4294967296", "res_2", "req_2 "} {
		s := (Language{}).Open(codec.Limits{})
		_, err := all(s, from(0, `{"id":"`+id+`","type":"a-response"}`))
		if !errors.Is(err, codec.ErrID) || !strings.Contains(err.Error(), `message "a-response" with the id "`+id+`" on the connection for answers`) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestBadLabels(t *testing.T) {
	for name, tc := range map[string]struct {
		in   []byte
		want error
	}{
		"unknown":     {Label{'x', 0, 0}.Append(nil), codec.ErrShape},
		"cut":         {Label{Frame, 0, 0}.Append(nil)[:5], codec.ErrTruncated},
		"cut head":    {append(Label{Head, 0, 0}.Append(nil), 0, 0, 0, 9, 1), codec.ErrTruncated},
		"long head":   {append(Label{Head, 0, 0}.Append(nil), 0, 1, 0, 0), codec.ErrShape},
		"short head":  {append(Label{Head, 0, 0}.Append(nil), 0, 0, 0, 1, 1), codec.ErrShape},
		"empty frame": {append(Label{Head, 1, 0}.Append(nil), 0, 0, 0, 4, 0, 0, 0, 0), codec.ErrEmpty},
		"large frame": {append(Label{Head, 1, 0}.Append(nil), 0, 0, 0, 5, 0xff, 0, 0, 0, 'x'), codec.ErrTooLarge},
		"fine head":   {append(Label{Head, 1, 0}.Append(nil), 0, 0, 0, 5, 0, 1, 0, 0, '{'), io.EOF},
	} {
		if got, err := all((Language{}).Open(codec.Limits{}), tc.in); len(got) != 0 || !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestBuffered(t *testing.T) {
	s := (Language{}).Open(codec.Limits{})
	two := append(from(1, `{"id":"a","type":"b"}`), from(2, `{"id":"a","type":"b"}`)...)
	two = append(two, Label{End, 1, 0}.Append(nil)...)
	r := s.NewReader(bytes.NewReader(two))
	var m codec.Message
	for i, want := range []bool{false, true, false, false, true} {
		if got := r.Buffered(); got != want {
			t.Errorf("before %d: %v", i, got)
		}
		err := r.Next(&m)
		if i < 3 != (err == nil) {
			t.Fatalf("%d: %v", i, err)
		}
	}
}

// A payload that was handed out stays as it is, and a large one is not copied
// together again and again.
func TestLargeFrame(t *testing.T) {
	s := (Language{}).Open(codec.Limits{})
	text := strings.Repeat("0123456789", 2<<20)
	in := from(1, `{"id":"a","type":"b","payload":"`+text+`"}`)
	r := s.NewReader(io.MultiReader(bytes.NewReader(in), bytes.NewReader(from(1, `{"id":"msg_1","type":"c","payload":"x"}`))))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var m, n codec.Message
	if err := r.Next(&m); err != nil {
		t.Fatal(err)
	}
	if err := r.Next(&n); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 3*uint64(len(in)) {
		t.Errorf("%d bytes for a frame of %d", got, len(in))
	}
	if string(m.Params) != `"`+text+`"` || m.Size != len(in)-LabelSize {
		t.Errorf("%d bytes of payload, size %d", len(m.Params), m.Size)
	}
}

// A length that is only claimed costs nothing.
func TestClaimedLength(t *testing.T) {
	s := (Language{}).Open(codec.Limits{})
	in := binary.BigEndian.AppendUint32(Label{Frame, 0, 0}.Append(nil), MaxFrame)
	r := s.NewReader(bytes.NewReader(append(in, "{}"...)))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var m codec.Message
	err := r.Next(&m)
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, codec.ErrTruncated) || got > 256<<10 {
		t.Errorf("%v, %d bytes", err, got)
	}
}

func FuzzReader(f *testing.F) {
	for _, body := range []string{
		`{"id":"req_1","type":"a-response","payload":[1,{"a":"\u00e9\ud83d"}]}`,
		`{"id":"req_2","type":"a-error","payload":{"error":"x"}}`,
		`{"id":"msg_1","type":"a"}`, `{"id":"","type":"é","payload":-0.5e+3}`, `{`, ``, `[]`,
	} {
		for conn := range uint32(2) {
			f.Add(from(conn, body), uint64(1))
		}
	}
	f.Add(append(from(1, `{"id":"a","type":"b"}`), Label{End, 1, 0}.Append(nil)...), uint64(2))
	f.Add(append(Label{Head, 1, 0}.Append(nil), 0, 0, 0, 5, 0, 1, 0, 0, '{'), uint64(3))
	f.Fuzz(func(t *testing.T, b []byte, cuts uint64) {
		s := (Language{}).Open(codec.Limits{Frame: 1 << 20})
		for id := uint32(1); id < 4; id++ {
			must(t, s, nil, codec.Message{Kind: codec.Request, ID: id, Method: "a"})
		}
		r := s.NewReader(&ragged{bytes.NewReader(b), rand.New(rand.NewPCG(cuts, 0))})
		var m codec.Message
		for {
			err := r.Next(&m)
			if err == nil {
				for _, raw := range []codec.Raw{m.Params, m.Result} {
					if err := (Language{}).Unmarshal(raw, nil); err != nil {
						t.Fatalf("%q: %v", raw, err)
					}
					var v any
					if err := (Language{}).Unmarshal(raw, &v); err != nil {
						t.Fatalf("%q: %v", raw, err)
					}
				}
				if m.Kind == codec.Request {
					back := must(t, s, nil, codec.Message{Kind: codec.Response, ID: m.ID, Result: m.Params})
					if len(back) > 0 {
						if _, err := takeApart(back[LabelSize+Header:], codec.Limits{}.WithDefaults()); err != nil {
							t.Fatalf("%q: %v", back, err)
						}
					}
				}
				continue
			}
			var frame *codec.FrameError
			if !errors.As(err, &frame) && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			return
		}
	})
}

// ragged reads pieces of any size.
type ragged struct {
	r   io.Reader
	rng *rand.Rand
}

func (r *ragged) Read(p []byte) (int, error) {
	return r.r.Read(p[:min(len(p), 1+r.rng.IntN(40))])
}
