package conformance

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/sdk"
	"github.com/hostsup/hostsup/sdk/undertest"
)

// asHost makes this program the host under test: "sdk", or the number of a rule that the host
// breaks, "" breaks none; for a rule of hostsup, the host that plays it.
const asHost = "CONFORMANCE_TEST_HOST"

func TestMain(m *testing.M) {
	switch name, ok := os.LookupEnv(asHost); {
	case !ok:
		// Plays wait most of the time, so that more of them fit than there are processors.
		flag.Parse()
		if err := flag.Set("test.parallel", "8"); err != nil {
			panic(err)
		}
		leaktest.Main(tests{m})
	case name == "sdk":
		s := sdk.New(sdk.Info{Name: "under-test", Version: "1"})
		undertest.Add(s)
		undertest.Extend(s)
		if err := s.Serve(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case strings.HasPrefix(name, "V"):
		runScripted(name)
	default:
		runUnderHost(name)
	}
}

// hostProgram is the host under test, and plays the hosts for the rules of hostsup.
var hostProgram string

// tests are all tests with such a program: this one, whose hosts have the race detector as well, or, where
// tests are not thorough, one without it. It is started some thousand times.
type tests struct{ *testing.M }

func (t tests) Run() int {
	self, err := os.Executable()
	remove := func() {}
	if hostProgram = self; err == nil && !require.Thorough() {
		hostProgram, remove, err = leaktest.WithoutRace()
	}
	defer remove()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return t.M.Run()
}

// environ is the environment of a host under test, for which asHost has this value. With the race
// detector it would sleep for a second before it exits, which each play would wait for.
func environ(host string) []string { return []string{asHost + "=" + host, "GORACE=atexit_sleep_ms=0"} }

// played runs the kit against this program.
func played(t *testing.T, host, rules string, transports ...string) *Report {
	t.Helper()
	r, err := Run(t.Context(), Options{Command: []string{hostProgram}, Env: environ(host), Rules: rules, Transports: transports, Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// describe shows a result.
func describe(r *Result) string {
	return fmt.Sprintf("%s over %s: %s\nsent %v\nexpected %s\ngot %s", r.Rule.ID, r.Transport, r.Outcome, r.Sent, r.Expected, r.Got)
}
