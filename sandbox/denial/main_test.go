package denial

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == observedArg {
		observed()
	}
	if len(os.Args) > 1 && os.Args[1] == landlockedArg {
		landlocked()
	}
	goleak.VerifyTestMain(m)
}
