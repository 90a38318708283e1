package config

import (
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/install/registry"
	"github.com/hostsup/hostsup/extensions/plan"
)

// Installs describes the extensions that can be installed for a host of protocol vscode.
type Installs struct {
	Host     string
	Folders  []string // absolute paths of the host's folders of installed extensions, in their order
	Build    string   // absolute path of the build of VS Code that the host runs; "" if it is unknown
	Registry string   // URL of packages, as package registry has it; "" without one
}

// installs returns what can be installed for a host, if it has folders for it.
func installs(d *hostDecl) (in Installs, ok bool) {
	if d.protocol != plan.VSCode || d.spec.Extensions == nil {
		return in, false
	}
	in = Installs{Host: d.spec.Name, Build: d.speech.editor.Root, Registry: d.extensions.registry}
	for _, f := range d.spec.Extensions.Folders {
		if f.Origin == extensions.User {
			in.Folders = append(in.Folders, f.Dir)
		}
	}
	return in, len(in.Folders) > 0
}

// registryURL reads the URL of a registry.
func registryURL(dst *string) setting {
	const expect = `a URL such as "https://example.com/{publisher}/{name}/{version}.vsix"`
	return checked(dst, expect, func(g given) {
		if err := registry.Check(*dst); err != nil {
			g.bad("It cannot be used: %v.", err)
		}
	})
}
