// Command actors runs a tree inside an actor system of its own and talks to it
// by messages only: an actor of this program asks a host to add numbers, stops
// it, and shuts the tree down.
//
//	go run ./examples/actors
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/sdk/demo"
	"github.com/hostsup/hostsup/supervisor"
)

// client is an ordinary actor of this program; the tree is its child.
type client struct {
	spec   supervisor.Spec
	tree   *actor.PID
	finish chan error
}

// Receive implements actor.Actor.
func (c *client) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		props, err := supervisor.Props(ctx.ActorSystem(), c.spec)
		if err != nil {
			c.finish <- err
			return
		}
		c.tree = ctx.Spawn(props)
		ctx.Request(c.tree, &actors.Call{ID: "sum", Host: "adder", Method: "add", Params: []int{20, 22}})
	case *actors.Result:
		fmt.Printf("%v: %x (%v)\n", m.ID, []byte(m.Value), m.Err)
		ctx.Request(c.tree, &actors.Command{ID: "stop", Host: "adder", Verb: actors.VerbStop})
	case *actors.Done:
		fmt.Printf("%v: done (%v)\n", m.ID, m.Err)
		if m.ID == "stop" {
			ctx.Request(c.tree, &actors.GetStatus{})
		} else {
			c.finish <- m.Err
		}
	case []record.HostStatus:
		for _, h := range m {
			fmt.Printf("%s is %s: %s\n", h.Name, h.State, *h.Reason)
		}
		ctx.Request(c.tree, &actors.Shutdown{ID: "shutdown"})
	}
}

func main() {
	if os.Getenv("ROLE") == "host" {
		os.Exit(demo.Main(context.Background()))
	}
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	c := &client{finish: make(chan error, 1), spec: supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(supervisor.HostSpec{
		Name: "adder", Command: []string{self}, Env: map[string]string{"ROLE": "host"}, Protocol: native.New(),
	})}}}
	system := actor.NewActorSystem()
	system.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return c }))
	if err := <-c.finish; err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
