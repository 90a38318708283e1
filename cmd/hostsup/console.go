package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/config"
	page "github.com/hostsup/hostsup/console"
	"github.com/hostsup/hostsup/control"
)

// tokenName is the file in the state folder with the token that the supervisor makes.
const tokenName = "console.token"

// console is the control API on a network.
type console struct {
	net.Listener
	raw    net.Listener // without encryption
	listen string       // as configured
	access control.Access
	info   control.Console
}

// openConsole listens as the file says. It returns nil if there is no console.
func openConsole(ctx context.Context, file *config.File, stateDir string, next successor) (*console, error) {
	conf := file.Console
	if conf.Listen == "" {
		return nil, nil
	}
	c := &console{listen: conf.Listen, access: control.Access{Names: conf.Names, Origins: conf.Origins, Page: page.Page()}}
	encryption, err := consoleTLS(conf.TLS)
	if err == nil {
		var made string
		c.access.Tokens, made, err = takeTokens(ctx, file, conf.Tokens, stateDir, tokenName)
		if made != "" {
			c.info.TokenFile = &made
		}
	}
	if err == nil {
		c.raw, err = next.listenTCP(ctx, conf.Listen)
	}
	if err != nil {
		return nil, fmt.Errorf("supervisor.console: %w", err)
	}
	c.Listener = c.raw
	scheme := "http"
	if encryption != nil {
		scheme, c.Listener = "https", tls.NewListener(c.Listener, encryption)
	}
	url := scheme + "://" + nameOf(conf.Listen, conf.Names, c.Addr()) + "/"
	c.info.URL = &url
	return c, nil
}

// takeTokens reads the configured tokens. Without configured tokens it makes a token with the
// role full, stores it in a file in the state folder, and returns the path of the file.
func takeTokens(ctx context.Context, file *config.File, conf []config.ConsoleToken, stateDir, name string) (tokens []control.Token, made string, err error) {
	add := func(name string, role control.Role, text string, err error) error {
		if err != nil {
			return fmt.Errorf("token %q: %w", name, err)
		}
		t, err := control.NewToken(name, role, text)
		tokens = append(tokens, t)
		return err
	}
	if len(conf) == 0 {
		if err := os.MkdirAll(stateDir, 0o700); err != nil {
			return nil, "", fmt.Errorf("make the state folder: %w", err)
		}
		made = filepath.Join(stateDir, name)
		text, err := control.KeepToken(made)
		return tokens, made, add("own", control.RoleFull, text, err)
	}
	store, err := openSecrets(file.Spec.Secrets, file.Spec.SecretCache)
	if err != nil {
		return nil, "", err
	}
	defer store.Close()
	for _, t := range conf {
		var text string
		if t.File != "" {
			text, err = control.ReadToken(t.File)
		} else {
			var value []byte
			value, err = store.Get(ctx, t.Secret)
			text = string(value)
		}
		if err := add(t.Name, cmp.Or(control.Role(t.Role), control.RoleFull), text, err); err != nil {
			return nil, "", err
		}
	}
	return tokens, "", nil
}

// consoleTLS returns nil without encryption.
func consoleTLS(conf config.ConsoleTLS) (*tls.Config, error) {
	if conf.Cert == "" {
		return nil, nil
	}
	cert, err := tls.LoadX509KeyPair(conf.Cert, conf.Key)
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	out := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	if conf.ClientCA == "" {
		return out, nil
	}
	out.ClientAuth = tls.RequireAndVerifyClientCert
	if out.ClientCAs, err = authorities(conf.ClientCA); err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	return out, nil
}

// authorities returns the certificates of a file.
func authorities(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificates", file)
	}
	return pool, nil
}

// nameOf is the host and the port in the URL of what listens at an address.
func nameOf(listen string, names []string, at net.Addr) string {
	host, _, _ := net.SplitHostPort(listen)      // config has checked it
	_, port, _ := net.SplitHostPort(at.String()) // of a listener
	if a, err := netip.ParseAddr(host); host == "" || err == nil && a.IsUnspecified() {
		host = "localhost"
		if len(names) > 0 {
			host = names[0]
		}
	}
	return net.JoinHostPort(host, port)
}

func (a *app) consoleVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Print where the supervisor can be used over the network",
		Long: `Print the URL at which the supervisor can be used over the network: that of
supervisor.console.listen. If the supervisor has made the token, the URL has it
behind the #, which browsers do not send to anybody; whoever knows it controls
the hosts.`,
		Args: args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.console(cmd.Context()) },
	}
	a.jsonFlag(cmd, "print the URL, and the file with the token, as one JSON document")
	return cmd
}

func (a *app) console(ctx context.Context) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	at, err := c.Console(ctx)
	if err != nil {
		return err
	}
	if a.json {
		a.out.jsonDocument(at)
		return nil
	}
	if at.URL == nil {
		return errors.New("this supervisor has no console: supervisor { console { listen = \"127.0.0.1:7777\" } } in its configuration makes one")
	}
	url := *at.URL
	if at.TokenFile != nil {
		text, err := control.ReadToken(*at.TokenFile)
		if err != nil {
			return err
		}
		url += "#token=" + text
	}
	_, err = io.WriteString(a.out, url+"\n")
	return err
}

// serveConsole serves the console, if there is one, until srv is closed. done gets nil, or
// why it ended before.
func serveConsole(srv *control.Server, c *console) (done <-chan error) {
	out := make(chan error, 1)
	if c == nil {
		out <- nil
		return out
	}
	go func() { out <- srv.ServeConsole(c.Listener, c.access) }()
	return out
}

// Close stops listening.
func (c *console) Close() error {
	if c == nil {
		return nil
	}
	return c.Listener.Close()
}

// where is what the log and the ready line say of a console, "" without one.
func (c *console) where() string {
	if c == nil {
		return ""
	}
	return ", console " + cmp.Or(*c.info.URL, c.Addr().String())
}
