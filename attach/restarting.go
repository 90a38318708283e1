package attach

import "fmt"

const methodCreateProgress = "window/workDoneProgress/create"

// showWork shows those clients that can that the host is being started again, or ends
// that. Under the lock.
func (h *Hub) showWork() {
	working := h.notices.working && !RuleOf(h.of.Spec()).Silent
	if working == (h.restarting != nil) {
		return
	}
	if !working {
		for _, c := range h.restarting {
			c.progress(h.restartToken(), map[string]any{"kind": "end"})
		}
		h.restarting = nil
		return
	}
	h.restarts++
	h.restarting = []*client{}
	for _, c := range h.clients {
		if h.dialect == dialect(lsp{}) && c.settled && !c.leaving && able(c.capabilities, []string{"window", "workDoneProgress"}) {
			c.showRestart(h.restartToken())
		}
	}
}

// restartToken is the token of the progress that is shown at present.
func (h *Hub) restartToken() string { return fmt.Sprintf("hostsup/restart-%d", h.restarts) }

// showRestart shows a client, which may refuse it, that its host is being started again.
// Under hub.mu.
func (c *client) showRestart(token string) {
	id, answer := c.begin(methodCreateProgress, encode(map[string]any{"token": token}))
	go func() { // ends with the answer, or with the client
		if _, err := c.await(c.ctx, id, answer); err != nil {
			return
		}
		h := c.hub
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.restarting == nil || h.restartToken() != token {
			return // it runs again
		}
		name, _ := h.dialect.describe()
		c.progress(token, map[string]any{"kind": "begin", "title": "hostsup: starting " + name + " " + h.host.Name() + " again"})
		h.restarting = append(h.restarting, c)
	}()
}

// progress tells a client of work of the hub's own.
func (c *client) progress(token string, value map[string]any) {
	c.notify(methodProgress, encode(map[string]any{"token": token, "value": value}))
}
