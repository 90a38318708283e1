package vscode

import (
	"fmt"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
)

// deactivation is how long a host waits for its extensions when it is told to end.
const deactivation = 5 * time.Second

// Language is what is the same for hosts of all builds: a [codec.Protocol] but for
// Open and Features, to be embedded in one that knows how its hosts are opened.
type Language struct{ jsonrpc.Encoding }

// Name returns "vscode".
func (Language) Name() string { return "vscode" }

// Defaults say that hosts are killed which do not answer: they acknowledge what
// they are asked at once, however long it then takes; and that a stop leaves them the
// time to deactivate their extensions, and a second to end.
func (Language) Defaults() codec.Defaults {
	return codec.Defaults{URIObjects: true, Grace: 2 * (deactivation + time.Second)}
}

// Actors are the objects of a release that calls go to.
type Actors struct {
	Version string // of the build, for messages

	names   []string // in the order of their numbers on the wire, from 1
	numbers map[string]uint8
}

// NewActors returns the actors with these names, the first of which has the number
// 1. There may be 255 of them.
func NewActors(version string, names []string) (*Actors, error) {
	if len(names) > 255 {
		return nil, fmt.Errorf("%d actors, but a number of one byte", len(names))
	}
	a := &Actors{Version: version, names: names, numbers: make(map[string]uint8, len(names))}
	for i, name := range names {
		a.numbers[name] = uint8(i + 1)
	}
	if len(a.numbers) != len(names) {
		return nil, fmt.Errorf("an actor is there twice")
	}
	return a, nil
}

// Number returns the number of an actor.
func (a *Actors) Number(actor string) (n uint8, ok bool) {
	n, ok = a.numbers[actor]
	return n, ok
}

// Actor returns the name of the actor with a number.
func (a *Actors) Actor(n uint8) (name string, ok bool) {
	if n == 0 || int(n) > len(a.names) {
		return "", false
	}
	return a.names[n-1], true
}

// Opening is how a host is opened.
type Opening struct {
	// Actors are those of its build; nil: Err says why there are none, and is the
	// error of the first message.
	Actors *Actors
	Err    error
	// Init returns the init data of a life, and what then returns the params of
	// ExtHostConfiguration.$initializeConfiguration.
	Init func(h codec.Hello) (data codec.Raw, configuration func() (codec.Raw, error), err error)
	// Workspace returns those of ExtHostWorkspace.$initializeWorkspace.
	Workspace func() (codec.Raw, error)
}
