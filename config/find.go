package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// defaultFileName is looked for in the working folder.
const defaultFileName = "config.hcl"

// ErrNoConfig is returned by [Find] when no file was named and none was found
// in the working folder.
var ErrNoConfig = errors.New("no configuration")

// Find returns the path of the configuration: explicit (the value of -c), else
// HOSTSUP_CONFIG, else config.hcl in the working folder. Only the last is
// checked to exist; a file that was named and is not there is an error of
// [Load].
func Find(explicit string) (string, error) {
	if explicit != "" {
		return explicit, nil
	}
	if p := os.Getenv("HOSTSUP_CONFIG"); p != "" {
		return p, nil
	}
	_, err := os.Stat(defaultFileName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%w: there is no %s in this folder; name a file with -c FILE or in HOSTSUP_CONFIG", ErrNoConfig, defaultFileName)
	case err != nil:
		return "", fmt.Errorf("look for a configuration: %w", err)
	}
	return defaultFileName, nil
}

// Env is what the places of files depend on. [SystemEnv] is the real one.
type Env struct {
	Getenv func(string) string
	UID    int    // of the user; -1 where there are none
	Home   string // folder of the user; "" when unknown
	Temp   string // folder for temporary files; only used where UID is -1
}

// SystemEnv is the environment of this process.
func SystemEnv() Env {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	return Env{Getenv: os.Getenv, UID: os.Getuid(), Home: home, Temp: os.TempDir()}
}

const socketName = "hostsup.sock"

// SocketPaths returns where the control socket may be, in the order to look:
// flag (the value of --socket), HOSTSUP_SOCKET, configured (from
// [File].Socket). The first of these that is given is the only one. Without
// any, there is $XDG_RUNTIME_DIR/hostsup.sock, /run/hostsup.sock for root, and
// /tmp/hostsup-UID/hostsup.sock.
//
// A supervisor listens at the first. A client takes the first that exists: a
// supervisor started at boot and a login shell of the same user differ in
// XDG_RUNTIME_DIR.
//
// The folder in /tmp can be made by anybody: check its owner and mode before
// use.
func SocketPaths(env Env, flag, configured string) []string {
	for _, p := range []string{flag, env.Getenv("HOSTSUP_SOCKET"), configured} {
		if p != "" {
			return []string{p}
		}
	}
	var out []string
	if dir := env.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		out = append(out, filepath.Join(dir, socketName))
	}
	switch {
	case env.UID < 0:
		return append(out, filepath.Join(env.Temp, "hostsup", socketName))
	case env.UID == 0:
		out = append(out, filepath.Join("/run", socketName))
	}
	return append(out, filepath.Join("/tmp", fmt.Sprintf("hostsup-%d", env.UID), socketName))
}

// SocketPath is the first of [SocketPaths].
func SocketPath(env Env, flag, configured string) string {
	return SocketPaths(env, flag, configured)[0]
}

// StateDir returns the folder of log files and crash reports: configured (from
// [File].StateDir), else /var/lib/hostsup for root, else
// $XDG_STATE_HOME/hostsup, where XDG_STATE_HOME is ~/.local/state unless it is
// set to an absolute path.
func StateDir(env Env, configured string) (string, error) {
	if configured != "" {
		return configured, nil
	}
	if env.UID == 0 {
		return "/var/lib/hostsup", nil
	}
	if dir := env.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "hostsup"), nil
	}
	if env.Home == "" {
		return "", errors.New("no folder for state: set supervisor.state_dir, XDG_STATE_HOME or HOME")
	}
	return filepath.Join(env.Home, ".local", "state", "hostsup"), nil
}

// maxSocket is the longest path of a unix socket that works everywhere: Linux
// takes 107 bytes, macOS 103.
const maxSocket = 103

func checkSocket(g given, p string) {
	if len(p) > maxSocket {
		g.bad("The path is %d bytes long; the system takes at most %d for a socket.", len(p), maxSocket)
	}
}
