package hosted

import (
	"path/filepath"

	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/workbench/output"
)

// channelsOf returns what keeps the output channels of a host and those beside it: in a folder beside
// the logs of hosts.
func (s *services) channelsOf(h *supervisor.Host, p *vscode.Protocol) *output.Channels {
	name := nameOf(h)
	o := output.ChannelOptions{
		Host: name, Redact: s.tree.Redact,
		Problem: func(text string) { s.tree.Log.Warn("output channels", "host", name, "problem", text) },
	}
	if h != nil {
		o.MaxSize = h.Spec().Log.MaxSize / 4
	}
	if s.tree.StateDir != "" {
		o.Dir = filepath.Join(s.tree.StateDir, "logs", "channels", p.Household(name))
	}
	return output.NewChannels(o)
}
