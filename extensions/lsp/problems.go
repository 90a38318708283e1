package lsp

import (
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/diagnostics"
	"github.com/hostsup/hostsup/workbench/language"
)

type problem struct {
	Range    language.Range `json:"range"`
	Severity int            `json:"severity"`
	Message  string         `json:"message"`
	Source   string         `json:"source,omitempty"`
	Code     string         `json:"code,omitempty"`
	Tags     []int          `json:"tags,omitempty"`
}

// severities are those of LSP.
var severities = map[diagnostics.Severity]int{diagnostics.Error: 1, diagnostics.Warning: 2, diagnostics.Info: 3, diagnostics.Hint: 4}

// noteProblems notes that the problems of files have changed. It does not block.
func (c *session) noteProblems(files []workbench.URI) {
	c.mu.Lock()
	for _, uri := range files {
		c.problems[uri.String()] = uri
	}
	c.mu.Unlock()
	wake(c.wake)
}

// publish sends the problems of files to the client, those at the time, until the session ends.
func (c *session) publish() {
	for {
		select {
		case <-c.wake:
		case <-c.ctx.Done():
			return
		}
		c.mu.Lock()
		var files map[string]workbench.URI
		if c.started {
			files, c.problems = c.problems, map[string]workbench.URI{}
		}
		c.mu.Unlock()
		for key, uri := range files {
			list := []problem{}
			for _, d := range c.s.opt.Diagnostics.Diagnostics(uri) {
				list = append(list, problem{narrow(d.Range), severities[d.Severity], d.Message, d.Source, d.Code, d.Tags})
			}
			c.tell("textDocument/publishDiagnostics", map[string]any{"uri": c.spelled(language.URI(key)), "diagnostics": list})
		}
	}
}
