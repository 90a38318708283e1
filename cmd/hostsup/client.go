package main

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"os"

	"github.com/hashicorp/hcl/v2"

	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/control"
)

// client makes the client of the selected supervisor.
func (a *app) client() (*control.Client, error) {
	if address, err := a.address(); address != "" || err != nil {
		return a.urlClient(address, err)
	}
	path, named, err := a.clientSocket()
	if err != nil {
		return nil, err
	}
	var opts []control.ClientOption
	if named {
		opts = append(opts, control.AnyOwner())
	}
	c := control.NewClient(path, opts...)
	a.finish = c.Close
	return c, nil
}

// address returns the URL of the supervisor to talk to, "" if it is to be found by its
// control socket.
func (a *app) address() (string, error) {
	switch {
	case a.url != "" && a.socket != "":
		return "", usagef("either --url or --socket, not both")
	case a.url != "" || a.socket != "":
		return a.url, nil
	}
	return os.Getenv("HOSTSUP_URL"), nil
}

// urlClient makes the client of the supervisor at a URL.
func (a *app) urlClient(address string, err error) (*control.Client, error) {
	if err != nil {
		return nil, err
	}
	file := cmp.Or(a.tokenFile, os.Getenv("HOSTSUP_TOKEN_FILE"))
	if file == "" {
		return nil, usagef("--url needs --token-file: a file with a token of that supervisor")
	}
	token, err := control.ReadToken(file)
	if err != nil {
		return nil, err
	}
	encryption, err := a.encryption()
	if err != nil {
		return nil, err
	}
	c, err := control.NewURLClient(address, token, control.WithTLS(encryption))
	if err != nil {
		return nil, &usageError{text: err.Error()}
	}
	a.finish = c.Close
	return c, nil
}

// encryption returns what the flags say of certificates; nil if they say nothing.
func (a *app) encryption() (*tls.Config, error) {
	ca := cmp.Or(a.ca, os.Getenv("HOSTSUP_CA"))
	cert := cmp.Or(a.cert, os.Getenv("HOSTSUP_CERT"))
	return tlsFiles(ca, cert, cmp.Or(a.key, os.Getenv("HOSTSUP_KEY"), cert))
}

// tlsFiles returns what files say of certificates; nil if none are named.
func tlsFiles(ca, cert, key string) (*tls.Config, error) {
	if key != "" && cert == "" {
		return nil, usagef("--key needs --cert: the file with the certificate of that key")
	}
	if ca == "" && cert == "" {
		return nil, nil
	}
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	var err error
	if ca != "" {
		if out.RootCAs, err = authorities(ca); err != nil {
			return nil, fmt.Errorf("--ca: %w", err)
		}
	}
	if cert != "" {
		pair, err := ownCertificate(cert, key)
		if err != nil {
			return nil, err
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}

// ownCertificate reads a certificate and its key. Errors name the flag that is wrong.
func ownCertificate(cert, key string) (pair tls.Certificate, err error) {
	certText, err := os.ReadFile(cert)
	if err != nil {
		return pair, fmt.Errorf("--cert: %w", err)
	}
	keyText, err := os.ReadFile(key)
	if err != nil {
		return pair, fmt.Errorf("--key: %w", err)
	}
	if pair, err = tls.X509KeyPair(certText, keyText); err != nil {
		flags := "--cert"
		if key != cert {
			flags = "--cert, --key"
		}
		return pair, fmt.Errorf("%s: %w", flags, err)
	}
	return pair, nil
}

// clientSocket returns the control socket to talk to: the one that is named, else
// the first existing one of the possible paths.
func (a *app) clientSocket() (path string, named bool, err error) {
	env := config.SystemEnv()
	configured := ""
	if a.socket == "" && env.Getenv("HOSTSUP_SOCKET") == "" {
		if configured, err = a.configuredSocket(); err != nil {
			return "", false, err
		}
	}
	paths := config.SocketPaths(env, a.socket, configured)
	named = a.socket != "" || env.Getenv("HOSTSUP_SOCKET") != "" || configured != ""
	for _, p := range paths {
		if _, err := os.Lstat(p); err == nil || !errors.Is(err, os.ErrNotExist) {
			return p, named, nil
		}
	}
	return paths[0], named, nil
}

// configuredSocket returns the socket that the configuration names, or "" if there is no
// configuration or it names none.
func (a *app) configuredSocket() (string, error) {
	path, err := config.Find(a.config)
	if errors.Is(err, config.ErrNoConfig) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	vars, err := config.ParseVars(a.vars)
	if err != nil {
		return "", &usageError{text: err.Error()}
	}
	socket, diags := config.Socket(path, config.Options{Vars: vars})
	if diags.HasErrors() {
		return "", &configError{diags, "the control socket is unknown: correct the file, or name the socket with --socket"}
	}
	return socket, nil
}

// load reads the configuration with the variables of the command line.
func (a *app) load(path string, opts config.Options) (*config.File, hcl.Diagnostics, error) {
	vars, err := config.ParseVars(a.vars)
	if err != nil {
		return nil, nil, &usageError{text: err.Error()}
	}
	opts.Vars = vars
	file, diags := config.Load(path, opts)
	return file, diags, nil
}
