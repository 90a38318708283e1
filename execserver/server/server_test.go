package server

import (
	"testing"

	"github.com/hostsup/hostsup/execserver/wire"
)

func TestRun(t *testing.T) {
	s := startServer(t, Options{})
	c := dial(t, s.URL())
	c.initialize(wire.InitializeParams{})
	c.start(shell("a", "printf out; printf err >&2; exit 3"))
	c.awaitClose("a")
	if out := c.output("a"); out[wire.Stdout] != "out" || out[wire.Stderr] != "err" {
		t.Error(out)
	}
	if e := c.awaitExit("a"); e.ExitCode != 3 {
		t.Error(e)
	}
}
