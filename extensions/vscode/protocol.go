package vscode

import (
	"reflect"

	"os"
	"slices"

	"github.com/hostsup/hostsup/codec"
	wire "github.com/hostsup/hostsup/codec/vscode"
)

// Protocol is VS Code's extension host protocol for hosts of one build, which come
// to a unix socket, or are handed one. Make it with [New].
type Protocol struct {
	wire.Language
	opt     Options
	memory  *memory
	secrets *confidences
}

// New returns the protocol for the hosts of the build at opt.Root.
func New(opt Options) *Protocol {
	return &Protocol{opt: opt, memory: &memory{scopes: map[string]*scope{}}, secrets: newConfidences()}
}

// Equal reports whether other is the protocol for the same hosts. What is kept for them
// does not count.
func (p *Protocol) Equal(other codec.Protocol) bool {
	o, ok := other.(*Protocol)
	return ok && reflect.DeepEqual(p.opt, o.opt)
}

// ArgShared is an argument of a host's program: what it keeps for a workspace is
// in the folder of that, even when another host keeps things there. The program
// does not look at the setting of that name in its initialization data.
const ArgShared = "--skipWorkspaceStorageLock"

// Shared returns the command of a host with [ArgShared].
func (p *Protocol) Shared(command []string) []string {
	if slices.Contains(command, ArgShared) {
		return command
	}
	return append(slices.Clone(command), ArgShared)
}

// Beside returns the protocol for more hosts that run extensions of one of the
// given name, and share with it what these keep. [ArgShared] is for their
// commands.
func (p *Protocol) Beside(host string) *Protocol {
	out := *p
	if out.opt.Name == "" {
		out.opt.Name = host
	}
	return &out
}

// Options returns what the protocol was made with.
func (p *Protocol) Options() Options { return p.opt }

// Features returns all that the methods of p can, which are documented there.
func (p *Protocol) Features() codec.Features {
	return codec.Features{
		Meet: p.Meet, Inherits: p.Inherits(), Arguments: p.Arguments, Explain: p.Explain,
		Reserved: p.Reserved, Expand: p.Expand, Incremental: p.Incremental,
		Serve: p.Serve, Answer: p.Answer,
		Secrets: &codec.Secrets{Serve: p.Keep, Confides: p.Confides, Household: p.Household},
	}
}

// Open makes a session. Where the build cannot be read it fails at its first
// message.
func (p *Protocol) Open(lim codec.Limits) codec.Session {
	b, err := ReadBuild(p.opt.Root)
	if err != nil {
		return wire.Open(lim, wire.Opening{Err: err})
	}
	return wire.Open(lim, wire.Opening{
		Actors: b.actors,
		Init: func(h codec.Hello) (codec.Raw, func() (codec.Raw, error), error) {
			data, descriptions, err := p.opt.initData(b, h)
			return data, func() (codec.Raw, error) { return p.opt.configuration(descriptions) }, err
		},
		Workspace: p.opt.workspace,
	})
}

// Inherits: hosts that are handed their sockets need
// no path to us.
func (p *Protocol) Inherits() bool { return p.opt.Reconnect }

// Meet prepares the meeting with a host; a build that cannot be read is an
// error before anything is started.
func (p *Protocol) Meet(dir string) (codec.Meeting, error) {
	b, err := ReadBuild(p.opt.Root)
	if err != nil {
		return nil, err
	}
	if p.opt.Name != "" {
		// A host that is confined can be given it only when it is there.
		if err := os.MkdirAll(p.opt.state(""), 0o700); err != nil {
			return nil, err
		}
	}
	if p.opt.Reconnect {
		return handOver(b, p.opt.grace())
	}
	return meet(dir, b)
}
