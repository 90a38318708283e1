package traces_test

import (
	"context"
	"os"
	"testing"

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
