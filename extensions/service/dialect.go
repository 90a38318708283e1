package service

import (
	"context"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/activation"
	"github.com/hostsup/hostsup/extensions/blame"
	"github.com/hostsup/hostsup/extensions/plan"
)

// dialect is how a protocol speaks of extensions. A value; what belongs to one
// host is its voice.
type dialect interface {
	// own says that hosts do the startup of their extensions by themselves.
	own() bool
	// tells says that hosts tell which extensions live in them, when they are up.
	tells() bool
	// find returns what is known before any host has run, or was known before and
	// cannot be read now. It is called by anybody.
	find(ctx context.Context, before []extensions.Extension) found
	// folders says that find reads some, in which there may be something else later.
	folders() bool
	voice(p *place) voice
}

// found is what is known of extensions, what is wrong with them, and whose files
// are whose.
type found struct {
	list     []extensions.Extension
	problems []error
	index    blame.Index
}

// voice speaks with the host of one place. All methods are called by the loop,
// but for the last five, which may be called by anybody and must
// not wait.
type voice interface {
	// opening returns what the next life is opened with, nil for the spec's. living
	// returns the extensions that it is told of, nil when none is known yet.
	opening() codec.Raw
	living() []string
	// up tells of a new life, before anything is asked of it; its line may be
	// nil: it has ended already. welcome follows when the machine knows of it.
	up()
	welcome()
	// ahead says that a life has been heard of before its up; over, that it has
	// ended.
	ahead(life uint64) bool
	over()
	// sync tells the life who lives there now, and ends those that no longer do.
	// What is under way is counted in the deltas of the service.
	sync()
	// activate and deactivate carry out what the machine wants. What becomes of an
	// activation is told to the machine.
	activate(e activation.Activate, x extensions.Extension)
	deactivate(id extensions.ID)
	// asked answers requests of the host, or is nil; notified hears what it says.
	asked(method string) actors.Handler
	// noted takes a request that only tells something, which is answered at once; false:
	// the request is none.
	noted(life uint64, method string, params codec.Raw) bool
	notified(life uint64, m *codec.Message)
	// command is the command that a call is of, if it is of one; activates is the
	// extension that a call activates, where nothing but its answer tells its end.
	command(method string, params codec.Raw) (string, bool)
	activates(method string, params codec.Raw) (extensions.ID, bool)
}

// dialectOf is the one of a host that has an extensions block.
func dialectOf(base *actors.Ref, spec plan.Spec) dialect {
	if base.Spec().Protocol.Name() == plan.Hostsup {
		return programs{spec}
	}
	return editors{spec, base}
}
