package vscode

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/vscode/persistent"
)

// opening is that of a build with a few actors.
func opening(t testing.TB) Opening {
	t.Helper()
	actors, err := NewActors("1.2.3", []string{
		"MainThreadCommands", "MainThreadExtensionService", "MainThreadDialogs",
		"ExtHostCommands", "ExtHostConfiguration", "ExtHostExtensionService", "ExtHostWorkspace",
	})
	if err != nil {
		t.Fatal(err)
	}
	return Opening{Actors: actors}
}

// opened is a session with these actors.
func opened(t testing.TB, lim codec.Limits) *session {
	t.Helper()
	s, ok := Open(lim, opening(t)).(*session)
	if !ok {
		t.Fatal("another session")
	}
	return s
}

// framed puts a header in front of data.
func framed(data string) string {
	return string(persistent.Header{Type: persistent.Regular, Length: uint32(len(data))}.Append(nil)) + data
}

// head is the type and the id of an RPC message, long is a text behind its length.
func head(kind byte, id uint32) string { return string(appendHead(nil, kind, id)) }

func long(s string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(s)))) + s
}

func asks(method, params string) codec.Message {
	return codec.Message{Kind: codec.Request, ID: 7, Method: method, Params: codec.Raw(params)}
}

func TestAppend(t *testing.T) {
	const call = "ExtHostCommands.$x"
	who := "\x04\x02$x"
	answer := func(result string) codec.Message {
		return codec.Message{Kind: codec.Response, ID: 7, Result: codec.Raw(result)}
	}
	for name, tc := range map[string]struct {
		m    codec.Message
		want string
	}{
		"json":         {asks(call, `["a",{"b":1}]`), head(1, 7) + who + long(`["a",{"b":1}]`)},
		"no params":    {asks(call, ``), head(1, 7) + who + long(`[]`)},
		"null":         {asks(call, ` null`), head(1, 7) + who + long(`[]`)},
		"token":        {asks(call, `[1, {"$token":true}]`), head(2, 7) + who + long(`[1]`)},
		"only a token": {asks(call, `[{"$token": true} ]`), head(2, 7) + who + long(`[]`)},
		"escaped":      {asks(call, `[{"$$token":true},{"$other":1}]`), head(1, 7) + who + long(`[{"$token":true},{"$other":1}]`)},
		"mixed": {asks(call, `[1,{"$buffer":"aGVsbG8="} , {"$undefined":true},{"$object":{"a":[{"$buffer":"aGk="},{"$undefined":true},{"$buffer":""}]}},{"$$buffer":2}]`),
			head(3, 7) + who + "\x05\x01" + long("1") + "\x02" + long("hello") + "\x04\x03\x00\x00\x00\x02" +
				long(`{"a":[{"$$ref$$":0},{"$$ref$$":-1},{"$$ref$$":1}]}`) + long("hi") + long("") + "\x01" + long(`{"$buffer":2}`)},
		"mixed token":   {asks(call, `[{"$undefined":true},{"$token":true}]`), head(4, 7) + who + "\x01\x04"},
		"notification":  {codec.Message{Kind: codec.Notification, Method: call, Params: codec.Raw(`[1]`)}, head(1, 0) + who + long(`[1]`)},
		"ack":           {codec.Message{Kind: codec.Ack, ID: 7}, head(5, 7)},
		"cancel":        {codec.Message{Kind: codec.Cancel, ID: 7}, head(6, 7)},
		"no result":     {answer(``), head(7, 7)},
		"undefined":     {answer(`{"$undefined":true}`), head(7, 7)},
		"buffer":        {answer(`{"$buffer":"aGVsbG8="}`), head(8, 7) + long("hello")},
		"null result":   {answer(`null`), head(9, 7) + long("null")},
		"marked result": {answer(`[{"$$undefined":1}]`), head(9, 7) + long(`[{"$undefined":1}]`)},
		"object":        {answer(`{"$object":[{"$buffer":"aGk="}]}`), head(10, 7) + "\x00\x00\x00\x01" + long(`[{"$$ref$$":0}]`) + long("hi")},
		"error": {codec.Message{Kind: codec.Response, ID: 7, Err: &codec.Error{Name: "E", Message: "m\"", Stack: "s", Code: 5, Cause: &codec.Error{Name: codec.NameCancelled}}},
			head(11, 7) + long(`{"$isError":true,"name":"E","message":"m\"","stack":"s","noTelemetry":false,"code":5,"cause":{"$isError":true,"name":"Canceled","message":"Canceled","stack":"","noTelemetry":false}}`)},
		"terminate": {asks(methodTerminate, ``), "\x03"},
		"init":      {codec.Message{Kind: codec.Notification, Method: methodInit, Params: codec.Raw(`{}`)}, "{}"},
	} {
		s := opened(t, codec.Limits{})
		got, err := s.Append([]byte("before"), &tc.m)
		if err != nil || string(got) != "before"+framed(tc.want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, framed(tc.want))
		}
	}
}

func TestUnsendable(t *testing.T) {
	const call = "ExtHostCommands.$x"
	for name, tc := range map[string]struct {
		m    codec.Message
		want error
		text string
	}{
		"no actor":        {asks("$x", `[]`), codec.ErrShape, `"$x": Actor.$method expected`},
		"no dollar":       {asks("ExtHostCommands.x", `[]`), codec.ErrShape, `Actor.$method expected`},
		"unknown actor":   {asks("ExtHostNothing.$x", `[]`), codec.ErrShape, `VS Code 1.2.3 has no actor "ExtHostNothing"`},
		"long method":     {asks(call+strings.Repeat("x", 254), `[]`), codec.ErrString, "256 bytes, limit 255"},
		"not UTF-8":       {asks(call+"\xff", `[]`), codec.ErrShape, "not UTF-8"},
		"no array":        {asks(call, `{"a":1}`), codec.ErrShape, "an array of arguments expected"},
		"token first":     {asks(call, `[{"$token":true},1]`), codec.ErrShape, `{"$token":true} is not the last argument`},
		"false token":     {asks(call, `[{"$token":1}]`), codec.ErrShape, "true expected"},
		"inner buffer":    {asks(call, `[[{"$buffer":""}]]`), codec.ErrShape, "cannot be here"},
		"inner and outer": {asks(call, `[{"$undefined":true},[{"$buffer":""}]]`), codec.ErrShape, "cannot be here"},
		"bad base64":      {asks(call, `[{"$buffer":"?"}]`), codec.ErrShape, "illegal base64"},
		"many":            {asks(call, `[{"$undefined":true}`+strings.Repeat(",1", 255)+`]`), codec.ErrElements, "256 arguments, limit 255"},
		"too large":       {asks(call, `["`+strings.Repeat("x", 1000)+`"]`), codec.ErrTooLarge, "limit 1000"},
		"much too large":  {asks(call, `["`+strings.Repeat("x", 5000)+`"]`), codec.ErrTooLarge, "limit 1000"},
		"no id":           {codec.Message{Kind: codec.Ack}, codec.ErrShape, "ack without an id"},
		"item":            {codec.Message{Kind: codec.Item, ID: 1}, codec.ErrShape, "item: the protocol has none"},
		"token result":    {codec.Message{Kind: codec.Response, ID: 1, Result: codec.Raw(`{"$token":true}`)}, codec.ErrShape, "is no result"},
	} {
		s := opened(t, codec.Limits{Frame: 1000})
		got, err := s.Append([]byte("before"), &tc.m)
		var frame *codec.FrameError
		if string(got) != "before" || !errors.As(err, &frame) || !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestNext(t *testing.T) {
	who := "\x01\x02$x" // MainThreadCommands.$x
	const method = "MainThreadCommands.$x"
	request := func(params string) codec.Message {
		return codec.Message{Kind: codec.Request, ID: 7, Method: method, Params: codec.Raw(params)}
	}
	answer := func(result string) codec.Message {
		return codec.Message{Kind: codec.Response, ID: 7, Result: codec.Raw(result)}
	}
	for name, tc := range map[string]struct {
		data string
		want codec.Message
	}{
		"ready":        {"\x02", codec.Message{Kind: codec.Notification, Method: methodReady}},
		"initialized":  {"\x01", codec.Message{Kind: codec.Notification, Method: methodInitialized}},
		"json":         {head(1, 7) + who + long(`["a", 1]`), request(`["a", 1]`)},
		"marked":       {head(1, 7) + who + long(`[{"$buffer":1}]`), request(`[{"$$buffer":1}]`)},
		"token":        {head(2, 7) + who + long(`[1 ] `), request(`[1 ,{"$token":true}]`)},
		"only a token": {head(2, 7) + who + long(`[ ]`), request(`[ {"$token":true}]`)},
		"mixed": {head(3, 7) + who + "\x05\x01" + long(`"a"`) + "\x02" + long("hello") + "\x04\x03\x00\x00\x00\x01" + long(`{"a":{"$$ref$$":0},"b":{"$$ref$$":-1}}`) + long("hi") + "\x01" + long(`{"$token":0}`),
			request(`["a",{"$buffer":"aGVsbG8="},{"$undefined":true},{"$object":{"a":{"$buffer":"aGk="},"b":{"$undefined":true}}},{"$$token":0}]`)},
		"mixed token":   {head(4, 7) + who + "\x01\x04", request(`[{"$undefined":true},{"$token":true}]`)},
		"mixed nothing": {head(3, 7) + who + "\x00", request(`[]`)},
		"ack":           {head(5, 7), codec.Message{Kind: codec.Ack, ID: 7}},
		"cancel":        {head(6, 7), codec.Message{Kind: codec.Cancel, ID: 7}},
		"empty":         {head(7, 7), answer(``)},
		"buffer":        {head(8, 7) + long("hello"), answer(`{"$buffer":"aGVsbG8="}`)},
		"result":        {head(9, 7) + long(`{"a":1}`), answer(`{"a":1}`)},
		"null":          {head(9, 7) + long(`null`), answer(`null`)},
		"marked result": {head(9, 7) + long(`{"$object":1}`), answer(`{"$$object":1}`)},
		"object":        {head(10, 7) + "\x00\x00\x00\x01" + long(`[{"$$ref$$":0}]`) + long("hi"), answer(`{"$object":[{"$buffer":"aGk="}]}`)},
	} {
		// Before it comes the answer to a notification, which is nothing.
		in := framed(head(7, 0)) + framed(head(5, 0)) + framed(tc.data)
		s := opened(t, codec.Limits{})
		r := s.NewReader(iotest.OneByteReader(strings.NewReader(in)))
		var m codec.Message
		err := r.Next(&m)
		tc.want.Size = persistent.HeaderSize + len(tc.data)
		if len(tc.want.Result) == 0 {
			tc.want.Result = nil
		}
		a, _ := json.Marshal(m)
		b, _ := json.Marshal(tc.want)
		if err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: %s, %v; want %s", name, a, err, b)
		}
		if err := r.Next(&m); !errors.Is(err, io.EOF) {
			t.Errorf("%s: then %v", name, err)
		}
	}
}

func TestErrorsOfTheHost(t *testing.T) {
	for name, tc := range map[string]struct {
		data string
		want codec.Error
	}{
		"error": {head(11, 7) + long(`{"$isError":true,"name":"TypeError","message":"m","stack":"s","code":"ENOENT","cause":{"$isError":true,"name":"E","message":"inner","code":-5}}`),
			codec.Error{Name: "TypeError", Message: "m", Stack: "s", Cause: &codec.Error{Name: "E", Message: "inner", Code: -5}}},
		"number":     {head(11, 7) + long(`{"$isError":true,"code":12}`), codec.Error{Code: 12}},
		"canceled":   {head(11, 7) + long(`{"$isError":true,"name":"Canceled","message":"Canceled"}`), codec.Error{Name: codec.NameCancelled, Message: "Canceled"}},
		"no method":  {head(11, 7) + long(`{"$isError":true,"name":"Error","message":"Unknown method $x on actor Y"}`), codec.Error{Name: codec.NameMethodNotFound, Message: "Unknown method $x on actor Y"}},
		"no actor":   {head(11, 7) + long(`{"$isError":true,"name":"Error","message":"Unknown actor Y"}`), codec.Error{Name: codec.NameMethodNotFound, Message: "Unknown actor Y"}},
		"text":       {head(11, 7) + long(`"thrown"`), codec.Error{Message: "thrown"}},
		"value":      {head(11, 7) + long(`{"a":1}`), codec.Error{Message: `{"a":1}`}},
		"nothing":    {head(12, 7), codec.Error{Message: "rejected without a reason"}},
		"other kind": {head(11, 7) + long(`{"$isError":true,"name":1}`), codec.Error{Message: `{"$isError":true,"name":1}`}},
	} {
		s := opened(t, codec.Limits{})
		var m codec.Message
		if err := s.NewReader(strings.NewReader(framed(tc.data))).Next(&m); err != nil || m.Err == nil || m.Kind != codec.Response {
			t.Errorf("%s: %+v, %v", name, m, err)
			continue
		}
		if len(tc.data) > rpcHeader && string(m.Err.Data) != tc.data[rpcHeader+4:] {
			t.Errorf("%s: data %s", name, m.Err.Data)
		}
		m.Err.Data = nil
		a, _ := json.Marshal(m.Err)
		b, _ := json.Marshal(tc.want)
		if !bytes.Equal(a, b) {
			t.Errorf("%s: %s, want %s", name, a, b)
		}
	}
	// A chain without end is cut.
	deep := strings.Repeat(`{"$isError":true,"name":"E","cause":`, 40) + "null" + strings.Repeat("}", 40)
	s := opened(t, codec.Limits{})
	var m codec.Message
	if err := s.NewReader(strings.NewReader(framed(head(11, 7) + long(deep)))).Next(&m); err != nil {
		t.Fatal(err)
	}
	n := 0
	for e := m.Err; e != nil; e = e.Cause {
		n++
	}
	if n != maxCauses+1 {
		t.Errorf("%d errors", n)
	}
}

func TestBadMessages(t *testing.T) {
	who := "\x01\x02$x"
	deep := strings.Repeat("[", 9) + strings.Repeat("]", 9)
	for name, tc := range map[string]struct {
		in   string
		want error
		text string
	}{
		"text":              {"Traceback (most recent call last):", codec.ErrByte, "type 84 frame, a regular one expected"},
		"another frame":     {string(persistent.Header{Type: persistent.Ack}.Append(nil)), codec.ErrByte, "ack frame"},
		"nothing":           {framed(""), codec.ErrEmpty, "length 0"},
		"over the limit":    {string(persistent.Header{Type: persistent.Regular, Length: 2049}.Append(nil)) + "x", codec.ErrTooLarge, "2049 bytes, limit 2048"},
		"half a header":     {framed("x")[:5], codec.ErrTruncated, "within the header"},
		"half a frame":      {framed("hello")[:15], codec.ErrTruncated, "within 2 of a frame's 5 bytes"},
		"one byte":          {framed("\x03"), codec.ErrShape, "message of the one byte 0x3"},
		"no id":             {framed("\x05\x00\x00"), codec.ErrTruncated, "id: 4 bytes, 2 left"},
		"type 0":            {framed(head(0, 1)), codec.ErrByte, "message of type 0"},
		"type 13":           {framed(head(13, 1)), codec.ErrByte, "message of type 13"},
		"request 0":         {framed(head(1, 0) + who + long("[]")), codec.ErrID, "request 0"},
		"ack with more":     {framed(head(5, 1) + "x"), codec.ErrTrailing, "1 bytes"},
		"cancel with more":  {framed(head(6, 1) + "xy"), codec.ErrTrailing, "2 bytes"},
		"empty with more":   {framed(head(7, 1) + "x"), codec.ErrTrailing, "1 bytes"},
		"no actor":          {framed(head(1, 1)), codec.ErrTruncated, "actor"},
		"unknown actor":     {framed(head(1, 1) + "\x08\x02$x" + long("[]")), codec.ErrID, "actor 8, VS Code 1.2.3 has 7"},
		"actor 0":           {framed(head(1, 1) + "\x00\x02$x" + long("[]")), codec.ErrID, "actor 0"},
		"cut method":        {framed(head(1, 1) + "\x01\x09$x"), codec.ErrTruncated, "method: 9 bytes, 2 left"},
		"no method":         {framed(head(1, 1) + "\x01\x00" + long("[]")), codec.ErrShape, `method ""`},
		"method not UTF-8":  {framed(head(1, 1) + "\x01\x01\xff" + long("[]")), codec.ErrShape, "method"},
		"args cut":          {framed(head(1, 1) + who + "\x00\x00\x00\x09[]"), codec.ErrTruncated, "arguments: 9 bytes, 2 left"},
		"args of 4 GiB":     {framed(head(1, 1) + who + "\xff\xff\xff\xff[]"), codec.ErrTruncated, "arguments: 4294967295 bytes"},
		"args with more":    {framed(head(1, 1) + who + long("[]") + "x"), codec.ErrTrailing, "1 bytes"},
		"args no array":     {framed(head(1, 1) + who + long("{}")), codec.ErrShape, "an array expected"},
		"args no JSON":      {framed(head(1, 1) + who + long("[nope]")), codec.ErrByte, "JSON expected"},
		"args not UTF-8":    {framed(head(1, 1) + who + long("[\"\xff\"]")), codec.ErrByte, "not UTF-8"},
		"args deep":         {framed(head(1, 1) + who + long(deep)), codec.ErrDepth, "nested too deep"},
		"args many":         {framed(head(1, 1) + who + long("["+strings.Repeat("1,", 99)+"1]")), codec.ErrElements, "too many elements"},
		"args long":         {framed(head(1, 1) + who + long(`["`+strings.Repeat("x", 1501)+`"]`)), codec.ErrString, "string too long"},
		"kind 0":            {framed(head(3, 1) + who + "\x01\x00"), codec.ErrByte, "argument of kind 0"},
		"kind 5":            {framed(head(3, 1) + who + "\x01\x05"), codec.ErrByte, "argument of kind 5"},
		"mixed cut":         {framed(head(3, 1) + who + "\x02\x04"), codec.ErrTruncated, "kind of an argument"},
		"mixed with more":   {framed(head(3, 1) + who + "\x01\x04\x04"), codec.ErrTrailing, "1 bytes"},
		"mixed no JSON":     {framed(head(3, 1) + who + "\x01\x01" + long("1 2")), codec.ErrTrailing, "bytes after the value"},
		"buffer cut":        {framed(head(8, 1) + "\x00\x00\x00\x05hell"), codec.ErrTruncated, "result: 5 bytes, 4 left"},
		"buffers of nobody": {framed(head(10, 1) + "\xff\xff\xff\xff" + long("1") + long("")), codec.ErrTruncated, "4294967295 buffers, 4 bytes left"},
		"buffers many":      {framed(head(10, 1) + "\x00\x00\x00\x33" + long("1") + strings.Repeat(long(""), 51)), codec.ErrElements, "51 buffers, limit 50"},
		"buffers cut":       {framed(head(10, 1) + "\x00\x00\x00\x01" + long("1") + "\x00\x00\x00\x05hell"), codec.ErrTruncated, "buffer: 5 bytes, 4 left"},
		"object with more":  {framed(head(10, 1) + "\x00\x00\x00\x00" + long("1") + "x"), codec.ErrTrailing, "1 bytes"},
		"many references":   {framed(head(10, 1) + "\x00\x00\x00\x01" + long("["+strings.Repeat(`{"$$ref$$":0},`, 10)+"1]") + long(strings.Repeat("x", 400))), codec.ErrTooLarge, "limit 4096"},
		"error no JSON":     {framed(head(11, 1) + long("{")), codec.ErrTruncated, "JSON text ends"},
		"error with more":   {framed(head(12, 1) + "x"), codec.ErrTrailing, "1 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			s := opened(t, codec.Limits{Frame: 2048, Depth: 8, Elements: 50, String: 1500})
			r := s.NewReader(strings.NewReader(framed(head(5, 1)) + tc.in))
			var m codec.Message
			if err := r.Next(&m); err != nil || m.Kind != codec.Ack {
				t.Fatal(err)
			}
			err := r.Next(&m)
			var frame *codec.FrameError
			if !errors.As(err, &frame) || !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.text) || len(frame.Bytes) > 64 {
				t.Fatalf("%v", err)
			}
			if again := r.Next(&m); !errors.Is(again, tc.want) {
				t.Errorf("then %v", again)
			}
		})
	}
	// Once it runs, a host is not ready a second time.
	s := opened(t, codec.Limits{})
	s.running.Store(true)
	for _, b := range []string{"\x01", "\x02"} {
		if err := s.NewReader(strings.NewReader(framed(b))).Next(&codec.Message{}); !errors.Is(err, codec.ErrShape) {
			t.Error(err)
		}
	}
}

func TestBuffered(t *testing.T) {
	s := opened(t, codec.Limits{})
	r := s.NewReader(strings.NewReader(framed(head(5, 1)) + framed(head(5, 2)) + framed("x")[:10]))
	var m codec.Message
	for i, want := range []bool{false, true, false, true} {
		if got := r.Buffered(); got != want {
			t.Errorf("before %d: %v", i, got)
		}
		if err := r.Next(&m); i < 2 != (err == nil) {
			t.Fatalf("%d: %v", i, err)
		}
	}
}

// Whatever a host writes is understood or refused, and what is understood can
// be said again.
func FuzzReader(f *testing.F) {
	who := "\x01\x02$x"
	for _, s := range []string{
		head(1, 7) + who + long(`["a",{"$buffer":1}]`), head(2, 7) + who + long(`[]`), head(4, 9) + who + "\x02\x04\x02" + long("x"),
		head(3, 7) + who + "\x01\x03\x00\x00\x00\x01" + long(`{"a":{"$$ref$$":0}}`) + long("hi"),
		head(5, 7), head(6, 7), head(7, 7), head(8, 7) + long("x"), head(9, 7) + long(`{"$$ref$$":1}`),
		head(10, 7) + "\x00\x00\x00\x01" + long(`[{"$$ref$$":0}]`) + long("hi"),
		head(11, 7) + long(`{"$isError":true,"name":"a","cause":{"$isError":true}}`), head(12, 7), "\x01", "\x02",
		head(10, 7) + "\xff\xff\xff\xff" + "\xff\xff\xff\xff", // buffers beyond counting, and an object that is cut off
	} {
		f.Add([]byte(framed(s)))
	}
	open := opening(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		s := Open(codec.Limits{Frame: 1 << 16}, open)
		r := s.NewReader(bytes.NewReader(b))
		var m codec.Message
		for {
			err := r.Next(&m)
			if err != nil {
				if !errors.As(err, new(*codec.FrameError)) && !errors.Is(err, io.EOF) {
					t.Fatal(err)
				}
				return
			}
			if len(m.Params)+len(m.Result) > 2<<16 {
				t.Fatalf("%d bytes", len(m.Params)+len(m.Result))
			}
			for _, raw := range []codec.Raw{m.Params, m.Result} {
				if err := (Language{}).Unmarshal(raw, nil); err != nil {
					t.Fatalf("%q: %v", raw, err)
				}
			}
			if m.Kind == codec.Notification {
				continue
			}
			if m.Err == nil && !strings.Contains(string(b), "ref") {
				if m.Kind == codec.Request {
					if _, method, _ := strings.Cut(m.Method, "."); method[0] != '$' {
						continue
					}
				}
				out, err := s.Append(nil, &m)
				if err != nil && !errors.Is(err, codec.ErrTooLarge) {
					t.Fatalf("%+v: %v", m, err)
				}
				var again codec.Message
				if err != nil {
					continue
				}
				if err := s.NewReader(bytes.NewReader(out)).Next(&again); err != nil || again.Kind != m.Kind || again.ID != m.ID || again.Method != m.Method {
					t.Fatalf("%+v became %+v, %v", m, again, err)
				}
			}
		}
	})
}
