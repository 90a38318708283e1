// Package version reports the version of the program.
package version

import (
	"runtime/debug"
	"sync"
)

// stamped is set by the linker in releases: -X …/internal/version.stamped=v1.2.3.
var stamped string

// Version returns the release, else the module version that the program was built
// from, else "devel".
var Version = sync.OnceValue(func() string {
	if stamped != "" {
		return stamped
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	const module = "github.com/hostsup/hostsup"
	v := ""
	if info.Main.Path == module {
		v = info.Main.Version
	}
	for _, d := range info.Deps {
		if d.Path == module {
			v = d.Version
		}
	}
	if v == "" || v == "(devel)" {
		return "devel"
	}
	return v
})
