package codec

import "context"

// Keeper is a [Protocol] whose hosts have secrets kept for those in them, such as
// extensions, by requests of its own.
type Keeper interface {
	Protocol
	// Keep returns what answers a request about secrets, where nobody else answers
	// it, or nil if it is about none. It is called in the order of the requests,
	// and must not wait.
	Keep(method string) Keep
	// Confides says whether the params of such a request hold a value.
	Confides(method string) bool
	// Household is the name under which the secrets of a host are. Hosts of the
	// same one share them.
	Household(host string) string
}

// Keep answers a request about secrets, which are in v. It may take its time,
// until ctx ends, and runs beside others.
type Keep func(ctx context.Context, v Vault, host string, params Raw) (Raw, error)

// Vault holds the secrets of one household, each under a key of its owner's. No
// owner or key leads out of it. Errors can be told to the host.
type Vault interface {
	Get(ctx context.Context, owner, key string) (value string, found bool, err error)
	Set(ctx context.Context, owner, key, value string) error
	Delete(ctx context.Context, owner, key string) (found bool, err error)
	Keys(ctx context.Context, owner string) ([]string, error) // sorted
	// Tell sends a notification to all hosts of the household that are up, the one
	// that asks among them. It does not wait.
	Tell(method string, params Raw)
}
