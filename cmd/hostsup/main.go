// Command hostsup supervises extension hosts, language servers and other processes
// behind an editor or an agent, and talks to a running supervisor.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // time zones of schedules, where the system has none: images from scratch, Windows

	cmap "github.com/orcaman/concurrent-map"

	"github.com/hostsup/hostsup/sdk/demo"
)

func init() {
	// The registry of an actor system has 1024 maps, each split into as many shards;
	// making them takes longer than the rest of a start. The setting is global, and must
	// be made before the first registry.
	cmap.SHARD_COUNT = 2
}

func main() { os.Exit(program()) }

// program runs the command line and returns the exit code.
func program() int {
	if len(os.Args) == 2 && os.Args[1] == "demo-host" {
		// A host, not a tool: it needs none of the setup below.
		return demo.Main(context.Background())
	}
	// A reader that goes away must be an error of the write to it, not the death of a
	// supervisor. Started programs do not inherit this.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)

	a := newApp(os.Stdin, os.Stdout, os.Stderr)
	return a.main(context.Background(), os.Args[1:])
}
