package control

import (
	"context"
	"net/http"
)

// Console is where a supervisor can be used over a network.
type Console struct {
	URL       *string `json:"url"`        // null: nowhere
	TokenFile *string `json:"token_file"` // with the token that the supervisor made; null: it has others
}

// console responds with where the console is.
func (s *Server) console(context.Context, struct{}) (Console, error) { return s.opt.Console, nil }

// Console returns where the supervisor can be used over a network.
func (c *Client) Console(ctx context.Context) (*Console, error) {
	return document[Console](ctx, c, http.MethodGet, prefix+"/console", nil)
}
