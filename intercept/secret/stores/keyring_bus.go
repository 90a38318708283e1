//go:build !windows && !darwin

package stores

import (
	"fmt"
	"os"
	"strings"

	"github.com/hostsup/hostsup/intercept/secret"
)

// mocked is set by tests, whose keyring is on no bus.
var mocked bool

// keyringReachable looks for the session bus before the library does, which
// would start a bus of its own where there is none, and leave it running. The
// error wraps secret.ErrNoKeyring.
func keyringReachable() error {
	if mocked {
		return nil
	}
	switch address := os.Getenv("DBUS_SESSION_BUS_ADDRESS"); {
	case strings.HasPrefix(address, "autolaunch:"):
		return fmt.Errorf("%w: DBUS_SESSION_BUS_ADDRESS names no bus that runs", secret.ErrNoKeyring)
	case address != "":
		return nil
	}
	dir := fmt.Sprintf("/run/user/%d/", os.Getuid())
	for _, name := range []string{"bus", "dbus-session"} {
		if _, err := os.Stat(dir + name); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%w: there is no session bus: DBUS_SESSION_BUS_ADDRESS is not set", secret.ErrNoKeyring)
}
