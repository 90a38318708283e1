package grants

import (
	"os"
	"testing"

	"github.com/hostsup/hostsup/internal/leaktest"
)

// roleVar names what this program does when it is not to test; see roles.
const roleVar = "HOSTSUP_TEST_ROLE"

var roles = map[string]func() int{}

func TestMain(m *testing.M) {
	if role := roles[os.Getenv(roleVar)]; role != nil {
		os.Exit(role())
	}
	leaktest.Main(m)
}
