// Command hostsup supervises extension hosts, language servers and other
// processes behind an editor or an agent, and talks to a supervisor that runs.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/hostsup/hostsup/extension/demo"
)

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
