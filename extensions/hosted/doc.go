// Package hosted lets a supervisor look after the extensions of its hosts: [Part]
// has a service (package extensions/service) for each host whose specification
// names extensions. It is handed to a supervisor in supervisor.Spec.Parts; one
// without cannot run such hosts.
//
//	sup, err := supervisor.Start(ctx, supervisor.Spec{Groups: …, Parts: []supervisor.Part{hosted.Part{}}})
//	err = sup.Activate(ctx, "vscode", "onLanguage:go")
//
// It is apart from package supervisor so that a program without extensions links
// none of their machines, and no protocol of VS Code.
package hosted
