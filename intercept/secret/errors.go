package secret

import (
	"errors"
	"fmt"
)

// What can be wrong; test with errors.Is.
var (
	ErrNotFound   = errors.New("no such secret")
	ErrNoStore    = errors.New("there is no store of secrets")
	ErrNoKeyring  = errors.New("no keyring can be reached")
	ErrLocked     = errors.New("the keyring is locked")
	ErrNoIdentity = errors.New("no identity to open it with")
	ErrIdentity   = errors.New("not an age identity")
	ErrExposed    = errors.New("others may read it")
	ErrUndecipher = errors.New("cannot be decrypted with this identity")
	ErrDamaged    = errors.New("not a file of secrets")
	ErrFull       = errors.New("no room for more secrets")
	ErrName       = errors.New("not a name of a secret")
	ErrValue      = errors.New("not a value of a secret")
	ErrTimeout    = errors.New("no answer in time")
	ErrClosed     = errors.New("the store of secrets is closed")
)

// Error tells what could not be done with a secret, and where. It never holds a
// value.
type Error struct {
	Op    string // "read", "set", "remove", "list"
	Name  string // of the secret; "" for all of them
	Where string // "file /home/ada/.local/share/hostsup/secrets.age", `keyring (service "hostsup")`
	Err   error
}

// Error returns `read secret "github" in keyring (service "hostsup"): no such secret`.
func (e *Error) Error() string {
	what := "secrets"
	if e.Name != "" {
		what = fmt.Sprintf("secret %q", e.Name)
	}
	if e.Where != "" {
		what += " in " + e.Where
	}
	return fmt.Sprintf("%s %s: %v", e.Op, what, e.Err)
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }
