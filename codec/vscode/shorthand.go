package vscode

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/hostsup/hostsup/codec"
)

// methodCommand is the call of a command.
const methodCommand = "ExtHostCommands.$executeContributedCommand"

func reserved(method string) bool {
	return method == methodReady || method == methodInitialized || method == methodInit || method == methodTerminate
}

// Reserved is that of [codec.Features].
func (Language) Reserved(method string) bool { return reserved(method) }

// Expand lets a command be called by its id: "hello.greet" with its arguments,
// or with one that is no list, is the call of ExtHostCommands that executes it.
// What has the form of a method of an object is left as it is.
func (Language) Expand(method string, params codec.Raw) (string, codec.Raw) {
	switch {
	case method == "", method[0] == '$', strings.Contains(method, ".$"):
		return method, params
	case reserved(method):
		return method, params
	}
	id, err := json.Marshal(method)
	if err != nil { // a string can always be
		return method, params
	}
	rest := bytes.TrimSpace(params)
	switch {
	case len(rest) == 0, string(rest) == "null":
		rest = nil
	case rest[0] == '[' && rest[len(rest)-1] == ']':
		rest = bytes.TrimSpace(rest[1 : len(rest)-1])
	}
	out := append([]byte{'['}, id...)
	if len(rest) > 0 {
		out = append(append(out, ','), rest...)
	}
	return methodCommand, append(out, ']')
}
