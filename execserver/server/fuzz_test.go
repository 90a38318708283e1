//go:build unix

package server

import (
	"testing"

	"github.com/hostsup/hostsup/execserver/wire"
)

// FuzzMessages gives a connection that has no session, and one that has,
// whatever comes. Nothing may be started: the fuzzer finds out about that soon.
func FuzzMessages(f *testing.F) {
	for _, s := range []string{
		`{"id":1,"method":"initialize","params":{"clientName":"x"}}`, `{"method":"initialized"}`,
		`{"id":2,"method":"process/read","params":{"processId":"x","waitMs":1}}`,
		`{"id":2,"method":"process/write","params":{"processId":"x","chunk":"eA==","writeId":"1"}}`,
		`{"id":3,"method":"fs/getMetadata","params":{"path":"file:///"}}`, `{"id":4,"method":"environment/status"}`,
		`{"id":5,"result":{}}`, `[]`, ``, `{"id":6,"method":"process/list","params":null}`,
	} {
		f.Add([]byte(s))
	}
	s, err := New(Options{Listen: "stdio"})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Discard() })
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := wire.Decode(b); err == nil && changes[m.Method] {
			return
		}
		for _, with := range []bool{false, true} {
			c := s.newConn(discard{}, lines{}, "")
			if with {
				c.session = &session{srv: s, id: newID(), procs: map[string]*process{}, conn: c}
				c.ready, c.ext = true, true
			}
			go c.write()
			_ = c.message(b)
			c.session = nil // its actor is not there
			c.close(errEnd)
		}
	})
}

// changes are methods that do something to the machine.
var changes = map[string]bool{
	wire.MethodInitialize: true, wire.MethodProcessStart: true, wire.MethodFSWriteFile: true, wire.MethodFSCreateDirectory: true,
	wire.MethodFSRemove: true, wire.MethodFSCopy: true, wire.MethodFSOpen: true, wire.MethodFSWriteBlock: true, wire.MethodHTTPRequest: true,
	wire.MethodFSWalk: true, wire.MethodFSReadFile: true,
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) Close() error                { return nil }
