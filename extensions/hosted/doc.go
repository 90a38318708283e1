// Package hosted lets a supervisor manage the extensions of its hosts: [Part] has a
// service (package extensions/service) for each host whose specification has
// extensions. It must be in supervisor.Spec.Parts if the supervisor has such hosts.
//
//	sup, err := supervisor.Start(ctx, supervisor.Spec{Groups: …, Parts: []supervisor.Part{hosted.Part{}}})
//	err = sup.Activate(ctx, "vscode", "onLanguage:go")
//
// It is separate from package supervisor so that a program without extensions does
// not link the machines for extensions and VS Code's protocol.
package hosted
