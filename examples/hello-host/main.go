// Hello-host is a small host to start from. A supervisor runs it:
//
//	host "hello" {
//	  command     = ["go", "run", "./examples/hello-host"]
//	  inherit_env = ["PATH", "HOME"]
//	  start {
//	    timeout = "5m" # the first time, Go compiles it
//	  }
//	}
//
// and then:
//
//	hostsup call hello greet '{"name": "you"}'
//	hostsup call hello countdown 3 --stream
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/sdk"
)

// config is what the supervisor may pass in the handshake.
type config struct {
	Greeting string `msgpack:"greeting"`
}

type person struct {
	Name string `msgpack:"name"`
}

func main() {
	cfg := config{Greeting: "hello"}
	s := sdk.New(sdk.Info{Name: "hello-host", Version: "1.0"})

	s.OnInitialize(func(_ context.Context, h sdk.Hello) error {
		fmt.Printf("started by %s as %s, life %d\n", h.Supervisor, h.Host, h.Life) // stdout belongs to the program
		return h.Decode(&cfg)
	})

	// One value in, one value out. An error is an answer too.
	sdk.Handle(s, "greet", func(_ context.Context, in person) (string, error) {
		if in.Name == "" {
			return "", &codec.Error{Name: "Nobody", Message: "whom shall I greet?"}
		}
		return cfg.Greeting + ", " + in.Name, nil
	}, sdk.Inline())

	// Many values out, as fast as the caller reads them.
	sdk.Stream(s, "countdown", func(ctx context.Context, from int, send func(any) error) error {
		for i := from; i >= 0; i-- {
			if err := send(i); err != nil {
				return err
			}
			select {
			case <-time.After(time.Second):
			case <-ctx.Done(): // canceled, or the host is stopping
				return context.Cause(ctx)
			}
		}
		return nil
	})

	s.OnShutdown(func(context.Context) error {
		fmt.Println("goodbye")
		return nil
	})

	if err := s.Serve(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "hello-host:", err)
		os.Exit(1)
	}
}
