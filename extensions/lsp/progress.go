package lsp

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/hostsup/hostsup/workbench/status"
)

// brief is how long a progress must run to be shown, as in VS Code.
const brief = 250 * time.Millisecond

// working is the value of a $/progress.
type working struct {
	Kind       string `json:"kind"` // begin, report, end
	Title      string `json:"title,omitempty"`
	Message    string `json:"message,omitempty"`
	Percentage *int   `json:"percentage,omitempty"`
	Cancelable *bool  `json:"cancellable,omitempty"`
}

// workOf returns the value for a progress.
func workOf(kind string, p status.Progress) working {
	w := working{Kind: kind, Message: p.Message}
	if kind == "end" {
		return working{Kind: kind}
	}
	if p.Percent != nil {
		percent := int(*p.Percent)
		w.Percentage = &percent
	}
	if kind == "begin" {
		can := p.Cancelable
		w.Cancelable = &can
		if w.Title = p.Title; w.Title == "" { // the protocol needs one
			w.Title, w.Message = p.Message, ""
		}
		if w.Title == "" {
			w.Title = p.Extension
		}
	}
	return w
}

func (c *session) progress(token any, w working) {
	c.tell("$/progress", map[string]any{"token": token, "value": w})
}

// showProgress sends the progress of extensions and of the starts of their hosts to the client, if it can
// show it, until the session ends.
func (c *session) showProgress() {
	select {
	case <-c.begun:
	case <-c.ctx.Done():
		return
	}
	if !c.caps.Window.WorkDoneProgress {
		return
	}
	shown := map[string]bool{} // by the ids of those that run; false: the client has refused to show it
	c.s.opt.Progress.Follow(c.ctx, brief, func(u status.Update) {
		token := c.s.commandName() + "/" + u.ID
		shows, known := shown[u.ID]
		switch {
		case u.Ended:
			delete(shown, u.ID)
			c.forget(token)
			if shows {
				c.progress(token, workOf("end", u.Progress))
			}
		case shows:
			c.progress(token, workOf("report", u.Progress))
		case !known:
			if c.isClaimed(u.ID) {
				return // it may still run when the request is answered
			}
			if shows = c.createProgress(token); shows {
				c.cancels(token, u.ID)
				c.progress(token, workOf("begin", u.Progress))
			}
			shown[u.ID] = shows
		}
	})
}

// createProgress asks the client to show a progress, and reports whether it does.
func (c *session) createProgress(token string) bool {
	var none any
	err := c.ask("window/workDoneProgress/create", map[string]any{"token": token}, &none)
	if err != nil {
		c.s.opt.Log.Debug("a client does not show a progress", "error", err)
	}
	return err == nil
}

// isClaimed reports whether a progress is shown as that of a command which the client executes.
func (c *session) isClaimed(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.claimed[id]
}

// cancels notes that the client cancels a progress by a token.
func (c *session) cancels(token, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancelers[token] = append(c.cancelers[token], id)
}

// forget ends that.
func (c *session) forget(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.cancelers, token)
}

// cancelProgress cancels what the client shows with a token.
func (c *session) cancelProgress(params json.RawMessage) error {
	var p struct{ Token any }
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	c.mu.Lock()
	ids := c.cancelers[keyOf(p.Token)]
	c.mu.Unlock()
	for _, id := range ids {
		if err := c.s.opt.Progress.Cancel(id); err != nil {
			return err
		}
	}
	return nil
}

// keyOf returns a token of a client, a text or a number, as the key of a map. Those of the server are texts.
func keyOf(token any) string {
	if text, ok := token.(string); ok {
		return text
	}
	return fmt.Sprintf("number %v", token)
}

// requestProgress is the progress of a request, for the token that the client has sent with it.
type requestProgress struct {
	c     *session
	token any // nil: it has sent none

	mu    sync.Mutex
	begun bool
	ids   []string
}

// starting tells the client that the request waits for the start of the host, if it does not run.
func (r *requestProgress) starting() {
	if r.token != nil && !r.c.s.opt.Running() {
		r.tell(status.Progress{Title: "Starting the extension host " + r.c.s.opt.Host})
	}
}

// tell tells the client how far the request is.
func (r *requestProgress) tell(p status.Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kind := "report"
	if !r.begun {
		r.begun, kind = true, "begin"
	}
	w := workOf(kind, p)
	if kind == "report" && w.Message == "" {
		w.Message = p.Title
	}
	r.c.progress(r.token, w)
}

// update tells the client of a progress that belongs to the request, which is not shown by itself then.
func (r *requestProgress) update(u status.Update) {
	if r.token == nil || u.Ended {
		return
	}
	if u.Extension != "" {
		key := keyOf(r.token)
		r.c.mu.Lock()
		if !r.c.claimed[u.ID] {
			r.c.claimed[u.ID] = true
			r.c.cancelers[key] = append(r.c.cancelers[key], u.ID)
			r.ids = append(r.ids, u.ID)
		}
		r.c.mu.Unlock()
	}
	r.tell(u.Progress)
}

// end tells the client that the request is answered. It is called before the answer is sent.
func (r *requestProgress) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.begun {
		r.c.progress(r.token, working{Kind: "end"})
	}
	if r.token == nil {
		return
	}
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	delete(r.c.cancelers, keyOf(r.token))
	for _, id := range r.ids {
		delete(r.c.claimed, id)
	}
}

// withProgress answers a request, and tells the client of its progress if it has sent a token.
func (c *session) withProgress(p *request, answer func(report func(status.Update)) (any, error)) (any, error) {
	r := &requestProgress{c: c, token: p.WorkDoneToken}
	r.starting()
	defer r.end()
	return answer(r.update)
}
