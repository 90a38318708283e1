package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// demoSpec is a host played by this test program.
func demoSpec(name string) supervisor.HostSpec {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return supervisor.HostSpec{
		Name: name, Command: []string{self}, Env: map[string]string{"DEMO": "1", "GORACE": "atexit_sleep_ms=0"},
		Protocol: native.New(),
	}
}

func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	sup, err := supervisor.Start(ctx, supervisor.Spec{
		Groups: []supervisor.GroupSpec{supervisor.Alone(demoSpec("demo"))},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sup.Stop(context.Background())

	host, err := sup.Host("demo")
	if err != nil {
		fmt.Println(err)
		return
	}
	var sum int
	if err := host.Call(ctx, "add", []int{20, 22}, &sum); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(sum)
	// Output: 42
}

// Call returns what a host answers as a value of the type that is asked for.
func ExampleCall() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	sup, err := supervisor.Start(ctx, supervisor.Spec{
		Groups: []supervisor.GroupSpec{supervisor.Alone(demoSpec("demo"))},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sup.Stop(context.Background())
	host, err := sup.Host("demo")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(supervisor.Call[int](ctx, host, "add", []int{20, 22}))
	// Output: 42 <nil>
}

// Follow yields what has happened and what happens; Transition tells changes of state
// from other events.
func ExampleSupervisor_Follow() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	sup, err := supervisor.Start(ctx, supervisor.Spec{
		Groups: []supervisor.GroupSpec{supervisor.Alone(demoSpec("demo"))},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sup.Stop(context.Background())
	for e := range sup.Follow(ctx) {
		if from, to, ok := e.Transition(); ok {
			fmt.Printf("%s: %q → %q\n", *e.Host, from, to)
			if to == lifecycle.Running {
				break
			}
		}
	}
	// Output:
	// demo: "" → "starting"
	// demo: "starting" → "running"
}

// The errors of a call tell apart whose fault it was.
func ExampleHost_Call_errors() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	sup, err := supervisor.Start(ctx, supervisor.Spec{
		Groups: []supervisor.GroupSpec{supervisor.Alone(demoSpec("demo"))},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sup.Stop(context.Background())
	host, _ := sup.Host("demo")

	err = host.Call(ctx, "no-such-thing", nil, nil)
	fmt.Println(errors.Is(err, supervisor.ErrNoSuchMethod))

	err = host.Call(ctx, "sleep", map[string]int{"ms": 60_000}, nil, supervisor.Timeout(50*time.Millisecond))
	fmt.Println(errors.Is(err, supervisor.ErrTimeout))

	err = host.Call(ctx, "exit", map[string]int{"code": 3}, nil)
	var crash *supervisor.HostError
	if errors.As(err, &crash) {
		fmt.Println(crash)
	}
	// Output:
	// true
	// true
	// host "demo": host crashed: exit 3
}

func ExampleHost_Stream() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	sup, err := supervisor.Start(ctx, supervisor.Spec{
		Groups: []supervisor.GroupSpec{supervisor.Alone(demoSpec("demo"))},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sup.Stop(context.Background())
	host, _ := sup.Host("demo")
	for item, err := range host.Stream(ctx, "stream", map[string]int{"n": 3}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		var n int
		if err := host.Encoding().Unmarshal(item, &n); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(n)
	}
	// Output:
	// 0
	// 1
	// 2
}

// A tree inside somebody else's actor system is talked to by messages.
func ExampleProps() {
	system := actor.NewActorSystem(actor.WithLoggerFactory(quiet), actor.WithDeadLetterThrottleInterval(time.Millisecond))
	props, err := supervisor.Props(system, supervisor.Spec{
		Groups: []supervisor.GroupSpec{supervisor.Alone(demoSpec("demo"))},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	done := make(chan struct{})
	var tree *actor.PID
	system.Root.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
		switch m := ctx.Message().(type) {
		case *actor.Started:
			tree = ctx.Spawn(props)
			ctx.Request(tree, &actors.Command{ID: "start", Host: "demo", Verb: actors.VerbStart})
		case *actors.Done:
			fmt.Println(m.ID, m.Err)
			if m.ID == "start" {
				ctx.Request(tree, &actors.Shutdown{ID: "shutdown"})
				return
			}
			close(done)
		}
	}))
	<-done
	// Output:
	// start <nil>
	// shutdown <nil>
}

func ExampleSupervisor_Add() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	sup, err := supervisor.Start(ctx, supervisor.Spec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sup.Stop(context.Background())
	host, err := sup.Add(ctx, "", demoSpec("late"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(host.Wait(ctx, lifecycle.Running))
	fmt.Println(sup.Remove(ctx, "late"))
	_, err = sup.Host("late")
	fmt.Println(errors.Is(err, supervisor.ErrNoHost))
	// Output:
	// <nil>
	// <nil>
	// true
}
