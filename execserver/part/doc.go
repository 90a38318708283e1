// Package part has an exec server live in the tree of a supervisor, beside its
// hosts: it listens when supervisor.Start returns, is made again when it ends by
// itself, is shown in the status, and ends with the tree, with everything that it
// runs.
//
//	sup, err := supervisor.Start(ctx, supervisor.Spec{Parts: []supervisor.Part{
//		part.Spec{Name: "agents", Options: server.Options{Listen: "ws://127.0.0.1:4500"}},
//	}})
//	agents, err := part.Of(sup, "agents")
//
// Package supervisor does not know this one: a program without an exec server links
// neither WebSocket nor pty.
package part
