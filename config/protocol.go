package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/codec/msgpackrpc"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/extensions/dscode"
	"github.com/hostsup/hostsup/extensions/vscode"
)

const (
	defaultProtocol = "hostsup"
	noProtocol      = "none"
)

// speech holds the settings of a protocol besides its name.
type speech struct {
	editor vscode.Options // of vscode
	ping   string
	noise  noise
}

// noise selects the handling of text between messages.
type noise string

const (
	noiseSkip noise = "skip"
	noiseFail noise = "fail"
)

// protocols maps the names of the built protocols to their constructors.
var protocols = map[string]func(speech) codec.Protocol{
	defaultProtocol:   func(speech) codec.Protocol { return native.New() },
	noProtocol:        func(speech) codec.Protocol { return nil },
	"msgpack-rpc":     func(s speech) codec.Protocol { return msgpackrpc.New(msgpackrpc.Options{Ping: s.ping}) },
	"dscode":          func(speech) codec.Protocol { return dscode.New() },
	"vscode":          func(s speech) codec.Protocol { return vscode.New(s.editor) },
	"jsonrpc-headers": func(s speech) codec.Protocol { return jsonrpc.Headers(jsonrpc.Options{Ping: s.ping}) },
	"jsonrpc-lines": func(s speech) codec.Protocol {
		return jsonrpc.Lines(jsonrpc.Options{Ping: s.ping, FailOnNoise: s.noise == noiseFail})
	},
}

func protocolSetting(dst *string) setting {
	names := slices.Sorted(maps.Keys(protocols))
	return setting{
		expect: quoted(names, "or"),
		read: func(g given) {
			name, ok := g.str(quoted(names, "or"))
			if !ok {
				return
			}
			if protocols[name] != nil {
				*dst = name
				return
			}
			g.fail(g.rng, fmt.Sprintf("unknown protocol %q", name), "There are %s.%s", quoted(names, "and"), didYouMean(name, names))
		},
		show: func() string { return strconv.Quote(*dst) },
	}
}
