package stores

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	keyring "github.com/zalando/go-keyring"

	"github.com/hostsup/hostsup/intercept/secret"
)

// keyringSource is the keyring of the system. Its items are named after the
// service and the secret. Keyrings cannot be searched everywhere, so an item of
// its own lists the names.
type keyringSource struct{ service string }

// index is the item that lists the names. It is no name of a secret.
const index = ".names"

func (k keyringSource) Where() string { return fmt.Sprintf("keyring (service %q)", k.service) }

func (k keyringSource) Get(name string) ([]byte, error) {
	v, err := keyring.Get(k.service, name)
	if err != nil {
		return nil, keyringError(err)
	}
	return []byte(v), nil
}

func (k keyringSource) Set(name string, value []byte) error {
	if err := keyring.Set(k.service, name, string(value)); err != nil {
		return keyringError(err)
	}
	return k.list(func(names []string) []string {
		if slices.Contains(names, name) {
			return names
		}
		return append(names, name)
	})
}

func (k keyringSource) Delete(name string) error {
	if err := keyring.Delete(k.service, name); err != nil {
		return keyringError(err)
	}
	return k.list(func(names []string) []string {
		return slices.DeleteFunc(names, func(n string) bool { return n == name })
	})
}

// List returns the names that were set through this package. One that another
// program has put beside them is found by its name all the same.
func (k keyringSource) List() ([]string, error) {
	text, err := keyring.Get(k.service, index)
	if errors.Is(err, keyring.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, keyringError(err)
	}
	var names []string
	if err := json.Unmarshal([]byte(text), &names); err != nil {
		return nil, fmt.Errorf("its list of names is damaged: %w", err)
	}
	return names, nil
}

// list changes the list of names.
func (k keyringSource) list(change func([]string) []string) error {
	old, err := k.List()
	if err != nil {
		return err
	}
	names := change(slices.Clone(old))
	if slices.Equal(names, old) {
		return nil
	}
	text, err := json.Marshal(names)
	if err != nil {
		return err
	}
	return keyringError(keyring.Set(k.service, index, string(text)))
}

// keyringError puts what the keyring said into the words of this package.
func keyringError(err error) error {
	if err == nil {
		return nil
	}
	text := strings.ToLower(err.Error())
	switch {
	case errors.Is(err, keyring.ErrNotFound):
		return secret.ErrNotFound
	case errors.Is(err, keyring.ErrSetDataTooBig):
		return fmt.Errorf("%w: the keyring takes no value as long as that", secret.ErrValue)
	case errors.Is(err, keyring.ErrUnsupportedPlatform):
		return fmt.Errorf("%w: %w", secret.ErrNoKeyring, err)
	case strings.Contains(text, "unlock"), strings.Contains(text, "locked"), strings.Contains(text, "dismissed"), strings.Contains(text, "prompt"):
		return fmt.Errorf("%w, or was never made (unlock it, or set backend = \"file\"): %w", secret.ErrLocked, err)
	case strings.Contains(text, "serviceunknown"), strings.Contains(text, "not provided by any"), strings.Contains(text, "dbus"), strings.Contains(text, "connection"), strings.Contains(text, "d-bus"):
		return fmt.Errorf("%w: %w", secret.ErrNoKeyring, err)
	}
	return err
}
