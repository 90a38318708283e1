package supervisor_test

import (
	"context"
	"log/slog"
	"os"
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/sdk/demo"
)

// TestMain plays the demo host when a test starts this program as one.
func TestMain(m *testing.M) {
	if os.Getenv("DEMO") != "" {
		leaktest.Exit(demo.Main(context.Background()))
	}
	leaktest.Main(m)
}

// quiet is a logger for actor systems of tests.
func quiet(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }
