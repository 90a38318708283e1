package vscode

import (
	"os"
	"reflect"
	"slices"

	"github.com/hostsup/hostsup/codec"
	wire "github.com/hostsup/hostsup/codec/vscode"
)

// Protocol is VS Code's extension host protocol for hosts of one build, which connect to a
// unix socket or receive one. It must be made with [New].
type Protocol struct {
	wire.Language
	opt      Options
	mementos *mementos
	secrets  *secretWrites
	editors  *editors
}

// New returns the protocol for the hosts of the build at opt.Root.
func New(opt Options) *Protocol {
	return &Protocol{opt: opt, mementos: &mementos{scopes: map[string]*scope{}}, secrets: newSecretWrites(), editors: &editors{list: map[string]Editor{}}}
}

// Equal reports whether other has the same options. Stored data of hosts is not compared.
func (p *Protocol) Equal(other codec.Protocol) bool {
	o, ok := other.(*Protocol)
	return ok && reflect.DeepEqual(p.opt, o.opt)
}

// ArgShared is an argument of a host's program: the data of a workspace is in the folder
// of the workspace even if another host uses the folder. The program ignores the setting
// of this name in its init data.
const ArgShared = "--skipWorkspaceStorageLock"

// Shared returns the command of a host with [ArgShared].
func (p *Protocol) Shared(command []string) []string {
	if slices.Contains(command, ArgShared) {
		return command
	}
	return append(slices.Clone(command), ArgShared)
}

// Beside returns the protocol for additional hosts that run extensions of the named host
// and share stored data with it. Their commands need [ArgShared].
func (p *Protocol) Beside(host string) *Protocol {
	out := *p
	if out.opt.Name == "" {
		out.opt.Name = host
	}
	return &out
}

// Options returns the options of the protocol.
func (p *Protocol) Options() Options { return p.opt }

// Features returns the methods of p; their comments describe the features.
func (p *Protocol) Features() codec.Features {
	return codec.Features{
		Rendezvous: p.Rendezvous, Inherits: p.Inherits(), Arguments: p.Arguments, Explain: p.Explain,
		Reserved: p.Reserved, Expand: p.Expand, Incremental: p.Incremental,
		Serve: p.Serve, Answer: p.Answer,
		Secrets: &codec.Secrets{Serve: p.Keep, Confides: p.Confides, Household: p.Household},
	}
}

// Open makes a session. If the build cannot be read, the session fails at its first
// message.
func (p *Protocol) Open(lim codec.Limits) codec.Session {
	b, err := ReadBuild(p.opt.Root)
	if err != nil {
		return wire.Open(lim, wire.Opening{Err: err})
	}
	var host string // Init comes first
	return wire.Open(lim, wire.Opening{
		Actors: b.actors,
		Init: func(h codec.Hello) (codec.Raw, func() (codec.Raw, error), error) {
			host = h.Host
			data, descriptions, err := p.opt.initData(b, h, p.present(host), p.Editor(host) != nil)
			return data, func() (codec.Raw, error) {
				if e := p.Editor(h.Host); e != nil {
					return e.Opening(h.Host, h.Life, descriptions)
				}
				return p.opt.configuration(descriptions)
			}, err
		},
		Workspace: func() (codec.Raw, error) { return p.present(host).opening() },
	})
}

// Inherits reports whether hosts receive their sockets over an inherited descriptor, so
// that they need no path.
func (p *Protocol) Inherits() bool { return p.opt.Reconnect }

// Rendezvous prepares the rendezvous with a host. If the build cannot be read, it fails before
// a process is started.
func (p *Protocol) Rendezvous(folder func() (string, error)) (codec.Rendezvous, error) {
	b, err := ReadBuild(p.opt.Root)
	if err != nil {
		return nil, err
	}
	if p.opt.Name != "" {
		// A confined host can be granted the folder only if it exists.
		if err := os.MkdirAll(p.opt.state(""), 0o700); err != nil {
			return nil, err
		}
	}
	if p.opt.Reconnect {
		return newHandover(b, p.opt.grace())
	}
	dir, err := folder()
	if err != nil {
		return nil, err
	}
	return newRendezvous(dir, b)
}
