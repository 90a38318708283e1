package wire

import (
	"encoding/json"
	"reflect"
	"testing"
)

func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"id":1,"method":"process/start","params":{}}`, `not-json`, ``, `[]`, `{"id":"a","result":{}}`,
		`{"id":1,"error":{"code":1,"message":"x"}}`, `{"method":"initialized"}`, `{"a":"\ud83d\ude00"}`, "{\"a\":[1,2.5e3,-0,true,null]}\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Decode(b)
		if !json.Valid(b) {
			if err == nil {
				t.Fatalf("%q is no JSON", b)
			}
			return
		}
		if err != nil {
			return
		}
		for _, part := range [][]byte{m.Params, m.Result} {
			if part != nil && !json.Valid(part) {
				t.Fatalf("%q has part %q", b, part)
			}
		}
		if got := m.ID.AppendJSON(nil); !json.Valid(got) {
			t.Fatalf("id %q", got)
		}
	})
}

// paramsOf has one of every params struct.
var paramsOf = []func() any{
	func() any { return new(InitializeParams) }, func() any { return new(ProcessStartParams) },
	func() any { return new(ProcessReadParams) }, func() any { return new(ProcessWriteParams) },
	func() any { return new(ProcessSignalParams) }, func() any { return new(ProcessTerminateParams) },
	func() any { return new(ProcessResizeParams) }, func() any { return new(ProcessCloseStdinParams) },
	func() any { return new(ProcessAttachParams) }, func() any { return new(ProcessDetachParams) },
	func() any { return new(FSReadFileParams) }, func() any { return new(FSWriteFileParams) },
	func() any { return new(FSCreateDirectoryParams) }, func() any { return new(FSGetMetadataParams) },
	func() any { return new(FSCanonicalizeParams) }, func() any { return new(FSReadDirectoryParams) },
	func() any { return new(FSWalkParams) }, func() any { return new(FSRemoveParams) },
	func() any { return new(FSCopyParams) }, func() any { return new(FSOpenParams) },
	func() any { return new(FSReadBlockParams) }, func() any { return new(FSWriteBlockParams) },
	func() any { return new(FSCloseParams) }, func() any { return new(FSWatchMissingParams) },
	func() any { return new(HTTPRequestParams) }, func() any { return new(HTTPCancelParams) },
}

// FuzzParams gives every params struct the same bytes. What is taken must be
// the same when it is written and read again.
func FuzzParams(f *testing.F) {
	for _, s := range []string{
		`{"clientName":"x","resumeSessionId":null}`,
		`{"processId":"p","argv":["a"],"cwd":"file:///tmp","env":{"A":"b"},"tty":false,"envPolicy":{"inherit":"all","ignoreDefaultExcludes":true,"exclude":[],"set":{},"includeOnly":[]},"metadata":{"threadId":"01a1fdb5-8a4d-7302-80cf-b6b24a754a40"}}`,
		`{"processId":"p","afterSeq":1,"maxBytes":2,"waitMs":3,"chunk":"eA==","writeId":"w","signal":"interrupt","rows":1,"cols":2}`,
		`{"path":"file:///x","dataBase64":"eA==","recursive":true,"options":{"maxDepth":1,"maxDirectories":1,"maxEntries":1},"handleId":"h","offset":0,"len":1,"mode":"replace"}`,
		`{"sandbox":{"permissions":{"type":"managed","network":"restricted","file_system":{"type":"restricted","entries":[{"path":{"type":"special","value":{"kind":"root"}},"access":"read"}]}},"windowsSandboxLevel":"disabled"},"path":"file:///x"}`,
		`{"sandbox":{"permissions":{"type":"managed","network":"restricted","file_system":{"type":"restricted","entries":[]}},"windowsSandboxLevel":"disabled"},"path":"file:"}`,
		`{"method":"GET","url":"http://x/","requestId":"r","headers":[{"name":"a","value":"b"}],"bodyBase64":"","redirectPolicy":"stop"}`,
		`{"watchId":1,"missing":["file:///a"],"present":[]}`, `null`, `[]`, `5`, `"x"`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := scanner{b: b}
		if s.value() != nil {
			return
		}
		b = b[:s.i]
		for len(b) > 0 && (b[0] == ' ' || b[0] == '\t' || b[0] == '\r' || b[0] == '\n') {
			b = b[1:]
		}
		for _, make := range paramsOf {
			p := make()
			if err := DecodeParams(b, p, true); err != nil {
				if err.Code != CodeInvalidParams || err.Message == "" {
					t.Fatalf("%T: %v", p, err)
				}
				continue
			}
			again, err := json.Marshal(p)
			if err != nil {
				t.Fatalf("%T: %v", p, err)
			}
			q := make()
			if err := DecodeParams(again, q, true); err != nil {
				t.Fatalf("%T: %s became %s: %v", p, b, again, err)
			}
			third, err := json.Marshal(q)
			if err != nil || string(third) != string(again) {
				t.Fatalf("%T: %s became %s, then %s", reflect.TypeOf(p), b, again, third)
			}
		}
	})
}
