package part_test

import (
	"context"
	"fmt"
	"time"

	"github.com/hostsup/hostsup/execserver"
	"github.com/hostsup/hostsup/execserver/part"
	"github.com/hostsup/hostsup/execserver/server"
	"github.com/hostsup/hostsup/supervisor"
)

// An exec server runs commands for clients, beside hosts or alone.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	sup, err := supervisor.Start(ctx, supervisor.Spec{
		Parts: []supervisor.Part{part.Spec{
			Name:       "agents",
			Options:    server.Options{Listen: "ws://127.0.0.1:0", KeepDetached: 12 * time.Hour},
			InheritEnv: []string{"PATH", "HOME"},
		}},
	})
	if err != nil { // a *part.Error when it cannot listen there
		fmt.Println(err)
		return
	}
	defer sup.Stop(context.Background())

	agents, err := part.Of(sup, "agents")
	if err != nil {
		fmt.Println(err)
		return
	}
	endpoint, err := execserver.ParseEndpoint(agents.Status().URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	client := execserver.New(endpoint, execserver.Options{Name: "example"})
	defer client.Close()
	out, err := client.Command(ctx, "/bin/sh", "-c", "echo hello; exit 3").Output()
	fmt.Printf("%s%v\n", out, err)
	fmt.Println(agents.Status().Metrics.Starts)
	// Output:
	// hello
	// exit status 3
	// 1
}
