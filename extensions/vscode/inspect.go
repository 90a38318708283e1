package vscode

import (
	"path/filepath"
	"slices"
	"strings"
)

// What node is told of its inspector, in the words that package inspector looks
// for.
const (
	// A free port of the loopback. In this form the host takes it out of what it
	// starts others with.
	anyPort = "--inspect-port=0"
	// Whoever asks the port is not told the id that lets him in.
	quiet = "--inspect-publish-uid=stderr"
)

// Arguments adds, for a host that is started by node, how node opens its
// inspector if it is asked to: at any free port of the loopback, and so that
// only we learn its address. Whoever has said something about that himself is
// left alone.
func (*Protocol) Arguments(command []string, env map[string]string) []string {
	script := slices.IndexFunc(command, func(arg string) bool {
		return strings.HasSuffix(filepath.ToSlash(arg), "/"+fileStart)
	})
	if script < 1 || !slices.ContainsFunc(command[:script], isNode) || inspects(env["NODE_OPTIONS"]) || slices.ContainsFunc(command[:script], inspects) {
		return command
	}
	return slices.Concat(command[:script:script], []string{anyPort, quiet}, command[script:])
}

// inspects says whether an option of node is about its inspector.
func inspects(option string) bool {
	return strings.Contains(option, "--inspect") || strings.Contains(option, "--debug-port")
}

// isNode says whether an argument names node.
func isNode(arg string) bool {
	name := strings.TrimSuffix(filepath.Base(arg), ".exe")
	return name == "node" || name == "nodejs"
}
