package control

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/workbench/output"
)

// channelList is the response to a request for the output channels of a host.
type channelList struct {
	Channels []extensions.Channel `json:"channels"`
}

// channelsOf returns the channels of a host of the tree.
func (t tree) channelsOf(host string) (*output.Channels, error) {
	h, err := t.Supervisor.Host(host)
	if err != nil {
		return nil, err
	}
	return output.Of(h.Ref())
}

func (t tree) Channels(host string) ([]extensions.Channel, error) {
	all, err := t.channelsOf(host)
	if err != nil {
		return nil, err
	}
	return all.List(), nil
}

func (t tree) Channel(host, name string) (ChannelLog, error) {
	all, err := t.channelsOf(host)
	if err != nil {
		return nil, err
	}
	return all.Channel(name)
}

func (s *Server) channels(_ context.Context, in hostInput) (out channelList, err error) {
	host := in.Host.Status().Name
	all, err := s.sup.Channels(host)
	if err != nil {
		return out, s.channelFail(host, err)
	}
	return channelList{list(all)}, nil
}

// channelFail describes why a host has no output channels, or not the requested one.
func (s *Server) channelFail(host string, err error) *Error {
	if errors.Is(err, extensions.ErrNoExtensions) {
		return &Error{Class: NoExtensions, Host: host, Message: fmt.Sprintf("host %q has no output channels: only hosts with protocol \"vscode\" have some", host)}
	}
	return s.extensionFail(host, err)
}

// Channels returns the output channels that the extensions of a host have made.
func (c *Client) Channels(ctx context.Context, host string) ([]extensions.Channel, error) {
	out, err := get[channelList](ctx, c, hostPath(host, "channels"), nil)
	if err != nil {
		return nil, err
	}
	return out.Channels, nil
}

// ChannelLogs returns the last n lines of an output channel of a host and, with follow, later lines
// until ctx or the supervisor ends. channel is its name, or the id of its extension, a slash and its
// name. An error is the last element.
func (c *Client) ChannelLogs(ctx context.Context, host, channel string, n int, follow bool) iter.Seq2[capture.Line, error] {
	query := url.Values{"n": {strconv.Itoa(n)}, "follow": {strconv.FormatBool(follow)}, "channel": {channel}}
	return linesOf[capture.Line](ctx, c, http.MethodGet, hostPath(host, "logs")+queryOf(query), nil)
}
