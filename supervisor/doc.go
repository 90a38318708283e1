// Package supervisor runs a tree of supervised hosts: it is what a program
// imports to keep extension hosts, language servers and tool processes alive.
//
//	sup, err := supervisor.Start(ctx, supervisor.Spec{Groups: …})
//	host, err := sup.Host("typescript")
//	err = host.Call(ctx, "echo", in, &out)
//
// [Start] gives a handle with methods; [Props] gives the same tree as props to
// spawn in an actor system of the caller's, to be talked to by the messages of
// package actors. [Restart] and [Contain] are the strategies of the tree.
//
// What not every program needs is handed in, so that others do not link it: exec
// servers, programs that attach to hosts and the inspector of node are a [Part]
// each, in [Spec].Parts, and where secrets are is a [SecretStore]. Parts are open when
// Start returns and end with the tree, with everything that they run.
//
// # Promises
//
//   - All methods are safe for concurrent use; none holds a lock while it waits.
//   - Start returns at once; [Supervisor.Ready] waits for the first try of every host.
//   - When [Supervisor.Stop] returns, no process, goroutine, descriptor or
//     temporary file of the tree is left.
//   - A failing host never delays hosts that do not share its fate.
//   - Nothing outside the tree is touched: no signal handlers, no attributes of
//     the program, no children that are not its own; two trees in one program
//     do not know of each other.
//   - A defect inside the tree is logged and contained; it never panics the
//     program.
package supervisor
