//go:build linux

package integration

// builtinScenarios are those of the extensions that ship with VS Code and are not language servers.
var builtinScenarios []scenario
