package attach

import (
	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
)

// rpc is MessagePack-RPC. It has no handshake: whoever comes is a client from the
// first byte on, and there is nothing that a new life would have to be told.
type rpc struct{}

func (rpc) failed() int64                                          { return 0 } // Neovim's "Exception"
func (rpc) opening(codec.Raw) codec.Raw                            { return nil }
func (rpc) sameOpening(_, _ codec.Raw) bool                        { return true }
func (rpc) reopening(h *Hub) codec.Raw                             { return h.opening }
func (rpc) sameRoots(_, _ codec.Raw) bool                          { return true }
func (rpc) suits(*Hub, codec.Raw) error                            { return nil }
func (rpc) roots(codec.Raw) string                                 { return "" }
func (rpc) up(*Hub)                                                {}
func (rpc) down(*Hub)                                              {}
func (rpc) left(*Hub, *client) []codec.Message                     { return nil }
func (rpc) asked(_ *Hub, c *client, _ string) actors.Handler       { return c.passOn() }
func (rpc) reply(*Hub, *codec.Message) *codec.Message              { return nil }
func (rpc) related(*Hub, *codec.Message) *client                   { return nil }
func (rpc) purpose(string) purpose                                 { return purpose{common: true} }
func (rpc) causes(string) bool                                     { return true }
func (rpc) describe() (name, slow string)                          { return "", "" }
func (rpc) show(*Hub, *client, notice) bool                        { return false }
func (rpc) notified(_ *Hub, m *codec.Message) (*client, codec.Raw) { return nil, m.Params }

// came starts a host that does not run. A client for which that fails is let go
// with the reason: there is no answer that could give it.
func (rpc) came(c *client) {
	h := c.hub
	h.mu.Lock()
	h.arrive(c)
	c.greeted = true
	h.mu.Unlock()
	c.meet()
	c.work.Go(func() {
		defer close(c.running)
		err := h.raise(c.starting, false)
		if err == nil && h.host.Status().State.AtRest() {
			err = h.absent()
		}
		if err != nil {
			c.end(err)
		}
	})
}

func (rpc) request(c *client, m *codec.Message) error {
	c.forward(m.ID, m.Method, m.Params, nil)
	return nil
}

// notification waits for the start that the client has brought about: what it
// says then is not to be lost. What is said while the host is down is.
func (rpc) notification(c *client, m *codec.Message) error {
	select {
	case <-c.running:
		c.hub.tell(c.ctx, m.Method, m.Params, nil)
	case <-c.ctx.Done():
	}
	return nil
}
