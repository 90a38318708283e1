package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/attach/mcphttp"
	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/supervisor"
)

// mcpServe is a serve block: hosts over HTTP.
type mcpServe struct {
	net.Listener
	raw    net.Listener // without encryption
	conf   config.Serve
	access control.Access
	url    string
	token  string // file with the token that the supervisor made; "" without
	mcp    *mcphttp.Server
}

// serves are those of a file.
type serves []*mcpServe

// openServes listens as the file says.
func openServes(ctx context.Context, file *config.File, stateDir string, next successor) (serves, error) {
	var out serves
	for _, conf := range file.Serves {
		s, err := openServe(ctx, file, conf, stateDir, next)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("serve %q: %w", conf.Name, err), out.Close())
		}
		out = append(out, s)
	}
	return out, nil
}

func openServe(ctx context.Context, file *config.File, conf config.Serve, stateDir string, next successor) (*mcpServe, error) {
	s := &mcpServe{conf: conf, access: control.Access{
		Names: conf.Names, Origins: conf.Origins, Open: conf.Unauthenticated, Setting: fmt.Sprintf("serve %q", conf.Name),
		// A session has the stream of GET and its calls.
		MaxConns: 4 * conf.MaxSessions,
	}}
	s.access.Sent, s.access.Read = mcphttp.Headers()
	encryption, err := consoleTLS(conf.TLS)
	if err == nil && !conf.Unauthenticated {
		s.access.Tokens, s.token, err = takeTokens(ctx, file, conf.Tokens, stateDir, "serve-"+conf.Name+".token")
	}
	if err == nil {
		s.raw, err = next.listenTCP(ctx, conf.Listen)
	}
	if err != nil {
		return nil, err
	}
	s.Listener = s.raw
	scheme := "http"
	if encryption != nil {
		scheme, s.Listener = "https", tls.NewListener(s.Listener, encryption)
	}
	path := "/HOST/mcp"
	if len(conf.Hosts) == 1 {
		path = "/mcp"
	}
	s.url = scheme + "://" + nameOf(conf.Listen, conf.Names, s.Addr()) + path
	return s, nil
}

// start serves, until srv is closed. done gets nil, or why it ended before.
func (s serves) start(srv *control.Server, sup *supervisor.Supervisor, log hclog.Logger) (done <-chan error) {
	out := make(chan error, 1)
	ended := make(chan error, len(s))
	for _, m := range s {
		m.mcp = mcphttp.New(mcphttp.Options{
			Hosts: m.conf.Hosts, Logger: log.With("serve", m.conf.Name), Attach: sup.Attach, Stream: control.BeginStream,
			Find: func(name string) (mcphttp.Host, error) {
				h, err := sup.Host(name)
				if err != nil {
					return mcphttp.Host{}, err
				}
				spec := h.Spec()
				for _, p := range attach.ProtocolsOf(h) {
					if p.Name() == spokenNames["mcp"] {
						return mcphttp.Host{Protocol: p, Limits: spec.Limits}, nil
					}
				}
				return mcphttp.Host{}, fmt.Errorf("host %q does not speak MCP any more", name)
			},
			Caller:  func(r *http.Request) string { return control.TokenName(r.Context()) },
			MaxBody: m.conf.MaxBody, MaxSessions: m.conf.MaxSessions, Idle: m.conf.Idle,
		})
		m.access.Handler = m.mcp
		log.Info("hosts are served over HTTP", "serve", m.conf.Name, "url", m.url, "hosts", strings.Join(m.conf.Hosts, ", "), "token", m.token)
		go func() { ended <- srv.ServeConsole(m.Listener, m.access) }()
	}
	go func() {
		var errs []error
		for range s {
			errs = append(errs, <-ended)
		}
		out <- errors.Join(errs...)
	}()
	return out
}

// end ends all sessions, whose requests are answered.
func (s serves) end() {
	for _, m := range s {
		m.mcp.Close(supervisor.ErrClosed)
	}
}

// Close stops listening.
func (s serves) Close() error {
	var errs []error
	for _, m := range s {
		errs = append(errs, m.Listener.Close())
	}
	return errors.Join(errs...)
}

// status returns what the status of the supervisor shows.
func (s serves) status() (list []supervisor.ServeStatus) {
	for _, m := range s {
		one := supervisor.ServeStatus{Name: m.conf.Name, URL: m.url, Hosts: m.conf.Hosts}
		if m.token != "" {
			one.TokenFile = &m.token
		}
		list = append(list, one)
	}
	return list
}

// where is what the ready line says.
func (s serves) where() string {
	text := ""
	for _, m := range s {
		text += fmt.Sprintf(", %s at %s", m.conf.Name, m.url)
	}
	return text
}
