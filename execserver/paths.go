package execserver

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/hostsup/hostsup/execserver/wire"
)

// serverOS is the system of the server, as wire.OSName has it. Servers that do
// not tell it are taken for Unix.
func (c *Client) serverOS() string {
	if os := c.Info().PlatformOS; os != "" {
		return os
	}
	return "linux"
}

// uri is the URI of a path on the server. A relative path is one of the server's
// working folder. The client must have been connected.
func (c *Client) uri(name string) (wire.URI, error) {
	if name == "" || strings.IndexByte(name, 0) >= 0 {
		return "", fs.ErrInvalid
	}
	system := c.serverOS()
	if isAbs(system, name) {
		return wire.FileURIOn(system, name), nil
	}
	cwd := c.Info().Cwd
	if cwd == "" {
		return "", errors.New("the server does not tell its working folder: an absolute path is needed")
	}
	dir, bad := cwd.NativeOn(system)
	if bad != nil {
		return "", bad
	}
	return wire.FileURIOn(system, joinPath(system, dir, name)), nil
}

// isAbs reports whether a path of a system is absolute.
func isAbs(system, name string) bool {
	if system == "windows" {
		name = strings.ReplaceAll(name, `\`, "/")
		return len(name) >= 3 && name[1] == ':' && name[2] == '/'
	}
	return strings.HasPrefix(name, "/")
}

// joinPath joins a folder and a path below it.
func joinPath(system, dir, name string) string {
	if system == "windows" {
		dir = strings.ReplaceAll(dir, `\`, "/")
	}
	return path.Join(dir, name)
}
