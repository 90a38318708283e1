// Command embedder supervises one host and calls it.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/supervisor"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	sup, err := supervisor.Start(ctx, supervisor.Spec{Groups: []supervisor.GroupSpec{
		supervisor.Alone(supervisor.HostSpec{Name: "host", Command: os.Args[1:], Protocol: native.New()}),
	}})
	if err != nil {
		return err
	}
	defer func() { _ = sup.Stop(ctx) }()
	host, err := sup.Host("host")
	if err != nil {
		return err
	}
	var sum int
	if err := host.Call(ctx, "add", []int{20, 22}, &sum); err != nil {
		return err
	}
	fmt.Println(sum)
	return nil
}
