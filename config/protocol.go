package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/hostsup"
)

const (
	defaultProtocol = "hostsup"
	noProtocol      = "none"
)

// protocols are the ones that are built, by name.
var protocols = map[string]func() codec.Protocol{
	defaultProtocol: func() codec.Protocol { return hostsup.New() },
	noProtocol:      func() codec.Protocol { return nil },
}

// unbuiltProtocols are names with a fixed meaning that this version does not
// have.
var unbuiltProtocols = map[string]string{
	"msgpack-rpc":     "MessagePack-RPC",
	"jsonrpc-headers": "JSON-RPC with Content-Length, as language servers speak it",
	"jsonrpc-lines":   "JSON-RPC by lines, as MCP servers speak it",
	"dscode":          "DSCode extension hosts",
	"vscode":          "VS Code extension hosts",
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
			if what, ok := unbuiltProtocols[name]; ok {
				g.refuse(g.rng, "protocol", name, what, fmt.Sprintf("There are %s.", quoted(names, "and")))
				return
			}
			later := slices.Sorted(maps.Keys(unbuiltProtocols))
			g.fail(g.rng, fmt.Sprintf("unknown protocol %q", name), "There are %s; %s are not in this version.%s",
				quoted(names, "and"), quoted(later, "and"), didYouMean(name, append(later, names...)))
		},
		show: func() string { return strconv.Quote(*dst) },
	}
}
