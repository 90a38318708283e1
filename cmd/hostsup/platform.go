package main

import "fmt"

// elsewhere are the verbs that work without processes of their own, on every system.
const elsewhere = "validate --elsewhere, init, doctor, version, completion, exec --url, and with --url and --token-file all verbs that talk to a supervisor on another machine"

// unsupported returns why a verb cannot do its work on an operating system, named as
// runtime.GOOS, and what works there; nil if it can.
func unsupported(verb, goos string) error {
	switch verb {
	case "run", "exec-server", "sandbox run", "attach", "conformance":
		if goos == "windows" {
			return fmt.Errorf("hostsup %s does not support windows: process trees are started and ended on Linux and macOS only; what works here: %s", verb, elsewhere)
		}
	case "sandbox explain":
		if goos != "linux" {
			return fmt.Errorf("hostsup sandbox explain cannot run a command on %s: commands are watched on Linux only; --policy without a command and --diff work here", goos)
		}
	}
	return nil
}
