// Package require ends a test for which the machine lacks something: the test is
// skipped, or fails where HOSTSUP_REQUIRE_PEERS=1 forbids that anything is missing,
// as CI does. It also says how many rounds random tests have.
//
// It is for tests only, and safe for concurrent use.
package require

import (
	"os"
	"testing"
)

// All reports whether HOSTSUP_REQUIRE_PEERS=1 is set: nothing may be missing.
func All() bool { return os.Getenv("HOSTSUP_REQUIRE_PEERS") == "1" }

// Thorough reports whether tests may take long: HOSTSUP_THOROUGH=1, as ./test all sets it, or
// nothing may be missing. Else the tests of a fresh clone take minutes.
func Thorough() bool { return All() || os.Getenv("HOSTSUP_THOROUGH") == "1" }

// Rounds returns how many rounds a test has that makes random cases, or that goes on for a time:
// all if tests are thorough, else few.
func Rounds(all, few int) int {
	if Thorough() {
		return all
	}
	return few
}

// Missing ends the test: it fails where nothing may be missing, else it is skipped.
// The text must name what is missing and what would install it.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if All() {
		t.Fatalf("HOSTSUP_REQUIRE_PEERS=1, and missing: "+format, args...)
	}
	t.Skipf("not here: "+format, args...)
}

// Privilege is Missing for what only root may do. An ordinary user's test is skipped
// even where nothing may be missing, because root runs it.
func Privilege(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getuid() == 0 {
		Missing(t, format, args...)
	}
	t.Skipf("only for root: "+format, args...)
}
