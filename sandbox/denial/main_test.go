package denial

import (
	"os"
	"testing"

	"github.com/hostsup/hostsup/internal/leaktest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == observedArg {
		observed()
	}
	if len(os.Args) > 1 && os.Args[1] == landlockedArg {
		landlocked()
	}
	leaktest.Main(m)
}
