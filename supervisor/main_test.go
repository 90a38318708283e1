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
	goleak.VerifyTestMain(m)
}

// quiet is a logger for actor systems of tests.
func quiet(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }
