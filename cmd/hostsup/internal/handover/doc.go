// Package handover is what two processes of hostsup tell each other when one takes over from the other, over a
// socket that the new one inherits.
//
// The supervisor that runs starts the other one ([Start]) with the descriptors that it is to go on with. That one tells its
// version (hello), reads the configuration and the state, and tells that it is ready. It has changed nothing until then. The supervisor
// lets its hosts go and says so (go). The other one starts its tree, serves the control socket, and tells that it
// is running.
//
//	new → old   {"step": "hello", "protocol": 1, "version": "v1.2.3"}
//	old → new   {"protocol": 1, "version": "v1.2.2", "files": [...], "sockets": [...], "socket": "...", "state_dir": "..."}
//	new → old   {"step": "taken"}
//	new → old   {"step": "ready", "hosts": [...], "kept": [...]}
//	old → new   {"go": true}
//	new → old   {"step": "running"}
//
// In the place of a step the new one may tell an error. A message is a line of JSON. If the end of one process is seen by the other
// before "go", the new process ends and the old one goes on.
//
// # Order and concurrency
//
// One goroutine at a time may use a [Next] or a [Successor], but for Exited, Code and Signal.
//
// # What it never does
//
// It knows nothing of hosts, trees and control sockets.
package handover
