package health

import (
	"context"
	"errors"
	"net"

	"github.com/hostsup/hostsup/internal/hostcommand"
)

// errNotStarted is the outcome of a check before the host's process is started.
var errNotStarted = errors.New("its process is not started yet")

// check makes one check of the present life.
func (c *checks) check(ctx context.Context, rule *Rule) error {
	switch {
	case len(rule.Exec) > 0:
		c.mu.Lock()
		given := c.given
		c.mu.Unlock()
		if given == nil {
			return errNotStarted
		}
		return hostcommand.Run(ctx, c.host, given, hostcommand.Command{Name: "healthy", Args: rule.Exec})
	case rule.Probe != nil:
		return rule.Probe.Probe(ctx)
	case rule.TCP != "":
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", rule.TCP)
		if err != nil {
			return cause(err)
		}
		return conn.Close()
	}
	c.mu.Lock()
	line := c.line
	c.mu.Unlock()
	if line == nil {
		return errNotStarted
	}
	return line.Call(ctx, rule.Call, nil, nil)
}

// cause takes the address off a network error: the name of the check says it.
func cause(err error) error {
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return e.Err
	}
	return err
}
