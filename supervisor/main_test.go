package supervisor_test

import (
	"context"
	"os"
	"testing"

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
