package server

import (
	"fmt"
	"testing"

	"github.com/hostsup/hostsup/execserver/wire"
)

func TestTerminalEndsByControlD(t *testing.T) {
	s := startServer(t, Options{})
	c := dial(t, s.URL())
	c.initialize(wire.InitializeParams{})
	for i := range 100 {
		id := fmt.Sprint("t", i)
		p := wire.ProcessStartParams{ProcessID: id, Argv: []string{"/bin/cat"}, Cwd: "file:///tmp", Env: map[string]string{"PATH": "/usr/bin:/bin"}, TTY: true}
		c.start(p)
		c.ask(wire.MethodProcessWrite, wire.ProcessWriteParams{ProcessID: id, Chunk: []byte("a\n"), WriteID: "1"})
		c.ask(wire.MethodProcessWrite, wire.ProcessWriteParams{ProcessID: id, Chunk: []byte{4}, WriteID: "2"})
		c.awaitClose(id)
		if e := c.awaitExit(id); e.ExitCode != 0 {
			t.Fatalf("%d: %+v %q", i, e, c.output(id))
		}
	}
}
