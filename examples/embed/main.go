// Command embed supervises a host from a Go program: it calls the host, kills it,
// sees it restart, and prints what happened. The host is this same program in
// another role, so that nothing must be installed:
//
//	go run ./examples/embed
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sdk"
	"github.com/hostsup/hostsup/supervisor"
)

func main() {
	run := supervise
	if os.Getenv("ROLE") == "host" {
		run = host
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// host is the program's other role: the supervised process.
func host() error {
	srv := sdk.New(sdk.Info{Name: "greeter", Version: "1"})
	sdk.Handle(srv, "greet", func(_ context.Context, name string) (string, error) {
		return fmt.Sprintf("hello %s, from process %d", name, os.Getpid()), nil
	})
	sdk.Handle(srv, "crash", func(context.Context, any) (any, error) {
		fmt.Fprintln(os.Stderr, "something went very wrong")
		os.Exit(3)
		return nil, nil
	})
	return srv.Serve(context.Background())
}

func supervise() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	sup, err := supervisor.Start(ctx, supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(supervisor.HostSpec{
		Name:     "greeter",
		Command:  []string{self},
		Env:      map[string]string{"ROLE": "host"},
		Protocol: native.New(),
	})}})
	if err != nil {
		return err
	}
	defer func() { _ = sup.Stop(context.WithoutCancel(ctx)) }()
	if err := sup.Ready(ctx); err != nil {
		return err
	}
	greeter, err := sup.Host("greeter")
	if err != nil {
		return err
	}

	text, err := supervisor.Call[string](ctx, greeter, "greet", "world")
	if err != nil {
		return err
	}
	fmt.Println(text)

	// A crash is an error of the calls in flight, and nothing else: the host restarts by
	// itself.
	err = greeter.Call(ctx, "crash", nil, nil)
	var crashed *supervisor.HostError
	if !errors.As(err, &crashed) {
		return fmt.Errorf("expected a crash, got %w", err)
	}
	fmt.Println("error:", crashed)

	// Follow begins with the oldest event, so that the program misses no event
	// however fast the host is: its second life ends the wait.
	for e := range sup.Follow(ctx) {
		from, to, ok := e.Transition()
		if !ok {
			continue
		}
		if from != "" {
			fmt.Printf("%s: %s → %s: %s\n", *e.Host, from, to, e.Reason)
		}
		if to == lifecycle.Running && *e.Life == 2 {
			break
		}
	}
	if text, err = supervisor.Call[string](ctx, greeter, "greet", "again"); err != nil {
		return err
	}
	fmt.Println(text)
	return nil
}
