package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// defaultFileName is the file in the working folder that Find looks for.
const defaultFileName = "config.hcl"

// ErrNoConfig means that no file was named and none was found in the working folder.
var ErrNoConfig = errors.New("no configuration")

// Find returns the path of the configuration: explicit (the value of -c), else
// HOSTSUP_CONFIG, else config.hcl in the working folder. Find checks only that the
// last exists; for a missing named file [Load] returns an error.
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

// Env is the environment that default paths depend on. [SystemEnv] returns the real one.
type Env struct {
	Getenv func(string) string
	UID    int    // of the user; -1 where the system has no uids
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

// SocketPaths returns the possible paths of the control socket, in the order to try:
// flag (the value of --socket), HOSTSUP_SOCKET, configured (from [File].Socket). If
// one of these is set, the first is the only one. Otherwise they are
// $XDG_RUNTIME_DIR/hostsup.sock, /run/hostsup.sock for root, and
// /tmp/hostsup-UID/hostsup.sock.
//
// A supervisor listens at the first. A client uses the first that exists:
// XDG_RUNTIME_DIR may differ between a supervisor started at boot and a login shell
// of the same user.
//
// NOTE: Any user can make the folder in /tmp. The caller must check its owner and
// mode before use.
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

// SocketPath returns the first of [SocketPaths].
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
