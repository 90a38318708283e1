package server

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/version"
)

// environmentInfo describes where commands run, and which parts of the protocol the
// server has.
func environmentInfo(ver string) wire.EnvironmentInfo {
	if ver == "" {
		ver = version.Version()
	}
	shell := loginShell()
	i := wire.EnvironmentInfo{
		Shell: wire.Shell{Name: filepath.Base(shell), Path: shell}, ExecutorVersion: ver, PlatformOS: wire.OSName(),
		PrependPathDirs: []wire.URI{}, TemporaryDirectories: []wire.URI{}, TempDir: wire.FileURI(os.TempDir()),
		Capabilities: wire.Capabilities{FSWatchMissing: true, HTTPHeaderEnvVars: true, FileWriteStreaming: true},
	}
	if dir, err := os.Getwd(); err == nil {
		i.Cwd = wire.FileURI(dir)
	}
	if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
		i.UserHomeDir = wire.FileURI(home)
	}
	if dir := os.Getenv("TMPDIR"); filepath.IsAbs(dir) {
		i.TemporaryDirectories = append(i.TemporaryDirectories, wire.FileURI(dir))
	}
	return i
}

// withID returns the encoded answer to request 0 as an answer to another one.
func withID(answer []byte, id wire.ID) []byte {
	const head = `{"id":`
	b := id.AppendJSON(append(make([]byte, 0, len(answer)+16), head...))
	return append(b, answer[len(head)+1:]...)
}

// loginShell is the user's shell where it is one whose language clients know, and
// else one that is on the PATH: bash, or zsh, or /bin/sh. The environment's SHELL
// is not asked. That is how the real server finds it.
func loginShell() string {
	shell := ""
	uid := strconv.Itoa(os.Getuid())
	if f, err := os.Open("/etc/passwd"); err == nil {
		defer f.Close()
		for s := bufio.NewScanner(f); s.Scan(); {
			if p := strings.Split(s.Text(), ":"); len(p) == 7 && p[2] == uid {
				shell = p[6]
				break
			}
		}
	}
	switch filepath.Base(shell) {
	case "bash", "zsh", "sh":
		if info, err := os.Stat(shell); err == nil && info.Mode().IsRegular() {
			return shell
		}
	}
	for _, name := range []string{"bash", "zsh"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return "/bin/sh"
}
