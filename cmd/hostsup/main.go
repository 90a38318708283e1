// Command hostsup supervises extension hosts, language servers and other
// processes behind an editor or an agent, and talks to a supervisor that runs.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	cmap "github.com/orcaman/concurrent-map"

	"github.com/hostsup/hostsup/sdk/demo"
)

func init() {
	// The registry of an actor system has 1024 maps, each cut into so many more
	// that to make them takes longer than all the rest of a start. It has to be
	// said before the first of them, and holds for the program.
	cmap.SHARD_COUNT = 2
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "demo-host" {
		// A host, not a tool: nothing is set up that it has no use for.
		os.Exit(demo.Main(context.Background()))
	}
	// A reader that goes away is an error of the write to it, not the death of
	// a supervisor. Programs that are started do not inherit this.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)

	a := newApp(os.Stdin, os.Stdout, os.Stderr)
	os.Exit(a.main(context.Background(), os.Args[1:]))
}
