// Package require decides what becomes of a test that lacks something of the
// machine: it is skipped, and fails where HOSTSUP_REQUIRE_PEERS=1 says that
// nothing may be missing, as CI does.
//
// It is for tests alone, and safe for concurrent use.
package require

import (
	"os"
	"testing"
)

// All reports whether nothing may be missing.
func All() bool { return os.Getenv("HOSTSUP_REQUIRE_PEERS") == "1" }

// Missing ends the test, which fails where nothing may be missing. The text says
// what is missing, and what would install it.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if All() {
		t.Fatalf("HOSTSUP_REQUIRE_PEERS=1, and missing: "+format, args...)
	}
	t.Skipf("not here: "+format, args...)
}

// Privilege is Missing for what root may do on such a machine: the test of an
// ordinary user is skipped also where nothing may be missing, and is run by root.
func Privilege(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getuid() == 0 {
		Missing(t, format, args...)
	}
	t.Skipf("only for root: "+format, args...)
}
