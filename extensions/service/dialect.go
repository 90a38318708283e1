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

// dialect is how a protocol handles extensions. It is a value; adapter has the state of one
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
	adapter(p *extHost) adapter
}

// found has the known extensions, their mistakes, and the owners of files.
type found struct {
	list     []extensions.Extension
	problems []error
	index    blame.Index
}

// adapter talks to one host. The loop calls all methods but the last five,
// which may be called on any goroutine and must not block.
type adapter interface {
	// opening returns the init data of the next life, nil for that of the spec.
	// extensionIDs returns the extensions for that life, nil if none is known yet.
	opening() codec.Raw
	extensionIDs() []string
	// lifeUp reports a new life, before any request to it; its line is nil if the life has
	// already ended. confirmed follows when the machine knows the life.
	lifeUp()
	confirmed()
	// hasEarly reports whether a life has sent reports before lifeUp. lifeEnded reports
	// the end of a life.
	hasEarly(life uint64) bool
	lifeEnded()
	// sync sends the life its current extensions, and ends the others. Updates in
	// progress are counted in the deltas of the service.
	sync()
	// activate and deactivate carry out effects of the machine, and report the result
	// of an activation to it.
	activate(e activation.Activate, x extensions.Extension)
	deactivate(id extensions.ID)
	// handler returns the handler of a request of the host, or nil. notification handles
	// its notifications.
	handler(method string) actors.Handler
	// noteRequest handles a request that only reports something and is answered at once; it
	// returns false for other requests.
	noteRequest(life uint64, method string, params codec.Raw) bool
	notification(life uint64, m *codec.Message)
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
