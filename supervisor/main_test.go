package supervisor_test

import (
	"context"
	"log/slog"
	"os"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"go.uber.org/goleak"

	"github.com/hostsup/hostsup/extension/demo"
)

// TestMain plays the demo host when a test starts this program as one.
func TestMain(m *testing.M) {
	if os.Getenv("DEMO") != "" {
		os.Exit(demo.Main(context.Background()))
	}
	// A system that is not ours leaves this behind for a second after a message
	// that found nobody.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/asynkron/protoactor-go/actor.NewDeadLetter.NewThrottle.func4.1"))
}

// quiet is a logger for actor systems of tests.
func quiet(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }
