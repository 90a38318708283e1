package config

import (
	"time"

	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/budget"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions/hosted"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/inspect"
	"github.com/hostsup/hostsup/intercept/secret"
	"github.com/hostsup/hostsup/intercept/secret/stores"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/survive"
)

// defaultHost returns a host with nothing but defaults. They are those of the
// library, so that a file and a Go program that leave a setting out get the same
// value.
func defaultHost() supervisor.HostSpec {
	h := supervisor.HostSpec{}.WithDefaults()
	h.Limits = codec.Limits{}.WithDefaults()
	return h
}

func defaultFile() *File {
	return &File{
		Spec: supervisor.Spec{
			Parts:    []supervisor.Part{attach.Part{}, inspect.Part{}, hosted.Part{}, budget.Part{}, survive.Part{}},
			OnFailed: supervisor.Stay, Users: sandbox.Range{First: 2_000_000_000, Count: 65_536}, SecretCache: secret.DefaultCache,
		},
		Log:     Log{Level: LevelInfo, Format: FormatText, To: LogToAuto, MaxSize: 16 << 20, Files: 4},
		Crashes: CrashReports{MaxAge: 30 * 24 * time.Hour, MaxSize: 256 << 20, MaxReports: 10_000},
		traces:  &Traces{Sample: 1},
	}
}

// Setting describes one argument of the file.
type Setting struct {
	Path    string // blocks and name: "host.restart.backoff.max"
	Expect  string // what may be written: `a duration such as "5s"`
	Default string // as it would be written; "" without a default
	Doc     string // what it is for
}

// Reference lists every argument of the file with its default, in an order for
// readers. It is made from the tables that read the file and from the values that a
// spec starts with.
func Reference() []Setting {
	var out []Setting
	var add func(prefix string, s section)
	add = func(prefix string, s section) {
		for _, set := range s.settings {
			def := set.show()
			if set.required {
				def = ""
			}
			out = append(out, Setting{Path: prefix + s.name + "." + set.name, Expect: set.expect, Default: def, Doc: set.doc})
		}
		for _, sub := range s.sections {
			add(prefix+s.name+".", sub)
		}
	}
	add("", supervisorSection(defaultFile()))
	add("supervisor.console.", tokenSection(&ConsoleToken{}))
	where := stores.Options{}.WithDefaults()
	add("", secretsSection(&where, &defaultFile().Spec.SecretCache))
	add("", groupSection(&supervisor.GroupSpec{Strategy: lifecycle.OneForOne}, &budget.Rule{}))
	d := newHostDecl()
	d.spec.Transport = hostspec.TransportFD
	add("", hostSection(d))
	add("", templateSection(newTemplateDecl()))
	add("", execServerSection(newExecServerDecl()))
	add("", serveSection(newServeDecl()))
	add("serve.auth.", serveTokenSection(&ConsoleToken{}))
	add("host.extensions.", doorSection(new([]string), &plan.MCP{}))
	add("host.extensions.", questionSection(&vscode.QuestionRule{}))
	return out
}
