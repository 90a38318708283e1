package stores

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/hostsup/hostsup/intercept/secret"
)

// Backend says where secrets are.
type Backend string

// The backends.
const (
	Auto    Backend = "auto"    // the keyring where there is one, else the file
	Keyring Backend = "keyring" // the system's
	File    Backend = "file"    // encrypted with age
)

// Options say where the secrets of a store are. The zero value is the default.
type Options struct {
	Backend Backend // default auto
	Service string  // under which they are in the keyring; default "hostsup"
	File    string  // default: [DefaultFile]

	// Identity is the path of the key that opens the file. Default: what
	// HOSTSUP_SECRETS_IDENTITY names, else hostsup-identity in systemd's
	// CREDENTIALS_DIRECTORY, else the path of the file with .identity behind it,
	// which is made with the first secret.
	Identity string
}

// Names of the environment that say where the identity is under systemd. Neither
// holds a key.
const (
	CredentialsEnv = "CREDENTIALS_DIRECTORY"
	CredentialName = "hostsup-identity"
)

// WithDefaults returns the options with zero fields replaced by their defaults,
// but for the paths, which are found at the first use.
func (o Options) WithDefaults() Options {
	if o.Backend == "" {
		o.Backend = Auto
	}
	if o.Service == "" {
		o.Service = "hostsup"
	}
	return o
}

// Validate returns what is wrong with the options.
func (o Options) Validate() error {
	switch o.Backend {
	case "", Auto, Keyring, File:
		return nil
	}
	return fmt.Errorf("backend %q is unknown; expected auto, keyring or file", o.Backend)
}

// DefaultFile is where the file of secrets is unless something else was said:
// /var/lib/hostsup/secrets.age for root, else
// $XDG_DATA_HOME/hostsup/secrets.age, where XDG_DATA_HOME is ~/.local/share
// unless it is set to an absolute path.
func DefaultFile() (string, error) {
	const name = "secrets.age"
	if runtime.GOOS != "windows" && os.Getuid() == 0 {
		return filepath.Join("/var/lib/hostsup", name), nil
	}
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "hostsup", name), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", errors.New("no folder for the file of secrets: set secrets.file, XDG_DATA_HOME or HOME")
	}
	return filepath.Join(home, ".local", "share", "hostsup", name), nil
}

// identityPath says where the identity of a file is. managed: it is a
// credential that systemd keeps.
func identityPath(o Options, file string) (path string, managed bool) {
	if o.Identity != "" {
		return o.Identity, false
	}
	if p := os.Getenv(secret.IdentityEnv); p != "" {
		return p, false
	}
	if dir := os.Getenv(CredentialsEnv); filepath.IsAbs(dir) {
		p := filepath.Join(dir, CredentialName)
		if _, err := os.Stat(p); err == nil {
			return p, true
		}
	}
	return file + ".identity", false
}
