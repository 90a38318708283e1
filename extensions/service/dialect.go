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

// dialect is how a protocol handles extensions. It is a value; voice has the state of one
// host.
type dialect interface {
	// own reports whether hosts do the startup of their extensions themselves.
	own() bool
	// tells reports whether hosts announce their extensions when they are up.
	tells() bool
	// find returns the extensions that are known before a host has run, and those of
	// before that cannot be read now. It may be called on any goroutine.
	find(ctx context.Context, before []extensions.Extension) found
	// folders reports whether find reads folders, whose content may change.
	folders() bool
	voice(p *place) voice
}

// found has the known extensions, their mistakes, and the owners of files.
type found struct {
	list     []extensions.Extension
	problems []error
	index    blame.Index
}

// voice talks to the host of one place. The loop calls all methods but the last five,
// which may be called on any goroutine and must not block.
type voice interface {
	// opening returns the init data of the next life, nil for that of the spec. living
	// returns the extensions for that life, nil if none is known yet.
	opening() codec.Raw
	living() []string
	// up reports a new life, before any request to it; its line is nil if the life has
	// already ended. welcome follows when the machine knows the life.
	up()
	welcome()
	// ahead reports whether a life has sent reports before its up. over reports the end
	// of a life.
	ahead(life uint64) bool
	over()
	// sync sends the life its current extensions, and ends the others. Updates in
	// progress are counted in the deltas of the service.
	sync()
	// activate and deactivate carry out effects of the machine, and report the result
	// of an activation to it.
	activate(e activation.Activate, x extensions.Extension)
	deactivate(id extensions.ID)
	// asked returns the handler of a request of the host, or nil. notified handles its
	// notifications.
	asked(method string) actors.Handler
	// noted handles a request that only reports something and is answered at once; it
	// returns false for other requests.
	noted(life uint64, method string, params codec.Raw) bool
	notified(life uint64, m *codec.Message)
	// command returns the command of a call, if it has one. activates returns the
	// extension that a call activates, if only its answer reports the end of that.
	command(method string, params codec.Raw) (string, bool)
	activates(method string, params codec.Raw) (extensions.ID, bool)
}

// dialectOf returns the dialect of a host with an extensions block.
func dialectOf(base *actors.Ref, spec plan.Spec) dialect {
	if base.Spec().Protocol.Name() == plan.Hostsup {
		return programs{spec}
	}
	return editors{spec, base}
}
