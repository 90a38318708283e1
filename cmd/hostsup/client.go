package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/control"
)

// client makes the client of the selected supervisor.
func (a *app) client() (*control.Client, error) {
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
	file, diags, err := a.load(path, config.Options{})
	if err != nil {
		return "", err
	}
	if file != nil {
		return file.Socket, nil
	}
	// An invalid file that is being edited must neither keep the user from the
	// supervisor, nor lead to another one than the file names.
	if socket, ok := plainSocket(path); ok {
		return socket, nil
	}
	return "", &configError{diags, "the control socket is unknown: correct the file, or name the socket with --socket"}
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

// plainSocket reads supervisor.socket from a file that is not valid as a whole. ok
// is false if the value is uncertain.
func plainSocket(path string) (socket string, ok bool) {
	src, err := os.ReadFile(path)
	if err != nil {
		return "", false
	}
	file, diags := hclsyntax.ParseConfig(src, path, hcl.InitialPos)
	if diags.HasErrors() {
		return "", false
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return "", false
	}
	for _, b := range file.Body.(*hclsyntax.Body).Blocks {
		attr := b.Body.Attributes["socket"]
		if b.Type != "supervisor" || attr == nil {
			continue
		}
		v, diags := attr.Expr.Value(nil)
		if diags.HasErrors() || v.IsNull() || !v.IsKnown() || v.Type().FriendlyName() != "string" || socket != "" {
			return "", false
		}
		if socket = v.AsString(); !filepath.IsAbs(socket) {
			socket = filepath.Join(dir, socket)
		}
	}
	return socket, true
}
