// Package inspect lets a supervisor inspect hosts that are node: it opens their
// inspectors, and takes CPU profiles and heap snapshots. [Part] is handed to a
// supervisor in supervisor.Spec.Parts:
//
//	sup, err := supervisor.Start(ctx, supervisor.Spec{Groups: …, Parts: []supervisor.Part{inspect.Part{}}})
//	err = sup.Profile(ctx, "typescript", 5*time.Second, w)
//
// It is apart from package supervisor so that a program that inspects nothing links
// no WebSocket.
package inspect
