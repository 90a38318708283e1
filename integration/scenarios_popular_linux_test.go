//go:build linux

package integration

// popularScenarios are those of extensions from npm.
var popularScenarios []scenario
