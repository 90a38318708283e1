package vscode

import (
	"path/filepath"
	"slices"
	"strings"
)

// Options of node's inspector, in the form that package inspector recognizes.
const (
	// A free port of the loopback. The host removes the option in this form from the
	// arguments of the processes that it starts.
	anyPort = "--inspect-port=0"
	// Clients of the port are not told the id that gives access.
	quiet = "--inspect-publish-uid=stderr"
)

// Arguments adds options to the command of a host that is started by node. If node is
// asked to open its inspector, it does so at a free port of the loopback, and only its
// standard error has the address. A command that has options for the inspector already is
// returned unchanged.
func (*Protocol) Arguments(command []string, env map[string]string) []string {
	script := slices.IndexFunc(command, func(arg string) bool {
		return strings.HasSuffix(filepath.ToSlash(arg), "/"+fileStart)
	})
	if script < 1 || !slices.ContainsFunc(command[:script], isNode) || isInspectOption(env["NODE_OPTIONS"]) || slices.ContainsFunc(command[:script], isInspectOption) {
		return command
	}
	return slices.Concat(command[:script:script], []string{anyPort, quiet}, command[script:])
}

// isInspectOption reports whether an option of node concerns its inspector.
func isInspectOption(option string) bool {
	return strings.Contains(option, "--inspect") || strings.Contains(option, "--debug-port")
}

// isNode reports whether an argument is a path of node.
func isNode(arg string) bool {
	name := strings.TrimSuffix(filepath.Base(arg), ".exe")
	return name == "node" || name == "nodejs"
}
