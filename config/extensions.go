package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/hashicorp/hcl/v2"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/blame"
	"github.com/hostsup/hostsup/extensions/location"
	"github.com/hostsup/hostsup/extensions/manifest"
	"github.com/hostsup/hostsup/extensions/plan"
)

// maxAffinity bounds the numbers of hosts; each number is a process.
const maxAffinity = 1000

// extensionsDecl is an extensions block while it is read.
type extensionsDecl struct {
	spec     plan.Spec
	affinity []entry
	editor   editorDecl
	registry string
}

// newExtensionsDecl returns the defaults that package plan documents. The default of
// quiet is the window, whatever its value.
func newExtensionsDecl() extensionsDecl {
	return extensionsDecl{editor: newEditorDecl(), spec: plan.Spec{Startup: 10 * time.Second, Deactivate: 5 * time.Second, Blame: blame.Rules{Window: 5 * time.Minute, MaxLives: 8}}}
}

func extensionsSection(d *extensionsDecl) section {
	s := &d.spec
	return section{
		name: "extensions", doc: "The extensions of a host: which it has, and when one is isolated.", speaks: true,
		labeled: []hcl.BlockHeaderSchema{declareHeader, doorHeader, questionHeader},
		settings: []setting{
			named("builtin", "folders of extensions, or of one, that ship with the editor", extensionFolders(&s.Folders, extensions.Builtin)),
			named("user", "folders of installed ones; of two with the same id the newer one counts", extensionFolders(&s.Folders, extensions.User)),
			named("development", "folders of ones that are being worked on, which win over all others", extensionFolders(&s.Folders, extensions.Development)),
			named("registry", "where `hostsup extension install ID` gets packages: a URL with {publisher}, {name}, {version} and {target} in it", registryURL(&d.registry)),
			named("disabled", "ids of those that are not activated, until a person enables them", extensionIDs(&s.Disabled)),
			named("affinity", "numbers of hosts; what has the same number shares a host, which is named NAME-2 for 2", affinity(d)),
			named("events", "activation events that are requested when the supervisor starts", activationEvents(&s.Events)),
			named("workspace", "folders that the extensions work on, and workspaceContains events look into", workspaceFolders(&s.Workspace)),
			named("trusted", "whether extensions are told that the workspace is trusted", boolean(&d.editor.untrusted, true)),
			named("settings", "the user's, by their full names; over those of settings_file", editorSettings(&d.editor.settings)),
			named("settings_file", "a file of settings as the editor has it: JSON with comments; extensions change it", path(&d.editor.settingsFile, checkSettings)),
			named("storage", "folder for what extensions keep and log, in one named as the host; default: hostsup/vscode in the user's folder for caches", path(&d.editor.storage, nil)),
			named("accounts", "which extensions may use the accounts of a provider, by its id, besides the extension that provides them", accountUsers(&d.editor.accounts)),
			named("questions", "what becomes of questions of extensions that no question block decides: they are dismissed, or wait for hostsup answer", choice(&d.editor.ask, dismissQuestions, askQuestions)),
			named("question_wait", "how long such a question waits until it is dismissed", duration(&d.editor.questions.Wait, nil)),
			named("deactivate", "how long an extension of a host of protocol hostsup may take to end before its host is restarted", duration(&s.Deactivate, nil)),
			named("startup", "the longest that onStartupFinished waits for the rest of the startup", duration(&s.Startup, nil)),
		},
		sections: []section{{
			name: "blame", doc: "When an extension is isolated.",
			settings: []setting{
				named("window", "time in which crashes are seen together", duration(&s.Blame.Window, nil)),
				named("max_lives", "lives of hosts that one search for the culprit may cost", whole(&s.Blame.MaxLives, 1, 1000)),
				named("profile", "take a CPU profile of a host that hangs, and sample the allocations of one whose memory grows; note the calls of one that hung without a profile; the inspector of its node is open meanwhile", boolean(&s.NoProfiles, true)),
				named("quiet", "time after which isolated suspects that have not crashed are cleared; default: window", unlimited(duration(&s.Blame.Quiet, nil), &s.Blame.Quiet)),
			},
		}},
	}
}

// extensions completes the spec of a host with its extensions block.
func (r *reader) extensions(body hcl.Body, d *hostDecl) {
	r.units(body, d)
	r.door(body, d)
	at, set := d.at["extensions"]
	switch {
	case !set || d.spec.Protocol == nil: // already reported
		return
	case !plan.Can(d.protocol):
		r.fail(at, `block "extensions" has no meaning here`, "Only hosts with protocol = %q or %q have extensions that hostsup knows, not %q. Remove the block, or choose another protocol.", plan.Hostsup, plan.VSCode, d.protocol)
		return
	}
	r.foreign(d)
	s := d.extensions.spec
	if d.protocol == plan.VSCode {
		s.Deactivate = 0 // its hosts do that themselves
	}
	if d.protocol == plan.VSCode && len(s.Folders) == 0 && d.sound("extensions.builtin", "extensions.user", "extensions.development") {
		r.warn(at, "extensions without folders", "Host %q has none: name where they are in builtin, user or development.", d.spec.Name)
	}
	if s.Blame.Quiet == 0 {
		s.Blame.Quiet = s.Blame.Window
	}
	if at, said := d.at["start.eager"]; said {
		s.Eager = !d.spec.Start.Lazy
		if d.protocol == plan.Hostsup && len(s.Declared) == 0 && !s.Eager {
			r.warn(at, "extensions that are not known", "Host %q announces its extensions when it runs, and nothing starts it. Declare them, or let it be eager.", d.spec.Name)
		}
	} else if d.protocol == plan.Hostsup {
		s.Eager = len(s.Declared) == 0 // only the host knows them
	}
	d.spec.Start.Lazy = true // as every host with extensions
	d.spec.Extensions = &s
}

// numbered reports hosts that affinity would make under a name that is taken.
func (r *reader) numbered(t *tree, g *groupDecl) {
	for _, d := range g.hosts {
		for _, e := range d.extensions.affinity {
			n := d.extensions.spec.Affinity[string(extensions.MakeID(e.key))]
			name := location.Place{Kind: location.Process, Number: n}.Name(d.spec.Name)
			if other, taken := t.names[name]; taken && n > 0 {
				r.fail(e.rng, fmt.Sprintf("name %q is taken", name), "The host of number %d would be named so, and the name belongs to the %s of %s.", n, other.kind, line(other.at, e.rng))
			}
		}
	}
}

// extensionFolders adds folders of an origin.
func extensionFolders(dst *[]manifest.Root, origin extensions.Origin) setting {
	const expect = `a list of folders such as ["/opt/code/extensions"]`
	return setting{expect: expect,
		read: func(g given) {
			for _, dir := range g.dirs(expect, "Nothing is found there until that changes.", func(e given, dir string) bool {
				at := slices.IndexFunc(*dst, func(r manifest.Root) bool { return r.Dir == dir })
				if at < 0 {
					return true
				}
				e.bad("%s is in %s already.", dir, (*dst)[at].Origin)
				return false
			}) {
				*dst = append(*dst, manifest.Root{Dir: dir, Origin: origin})
			}
		},
		show: func() string { return "" },
	}
}

func workspaceFolders(dst *[]string) setting {
	const expect = `a list of folders such as ["/srv/project"]`
	return setting{expect: expect,
		read: func(g given) {
			*dst = g.dirs(expect, "Nothing is found there until that changes.", func(given, string) bool { return true })
		},
		show: func() string { return showStrings(*dst) },
	}
}

// dirs returns the folders of a list as absolute paths, without those that are wrong
// or that take rejects. A missing folder causes a warning with the text missing.
func (g given) dirs(want, missing string, take func(given, string) bool) []string {
	elems, _ := g.elements(want, "")
	var out []string
	for _, e := range elems {
		text, ok := e.str("a path")
		if !ok {
			continue
		}
		if text == "" {
			e.bad("It is empty.")
			continue
		}
		var dir string
		path(&dir, nil).read(e)
		switch {
		case dir == "": // already reported
		case slices.Contains(out, dir):
			e.bad("%q is in the list already.", text)
		case e.isFile(dir):
			e.bad("%s is not a folder.", dir)
		case take(e, dir):
			if e.isMissing(dir) {
				e.warn(e.rng, "folder does not exist", "There is no %s (yet). %s", dir, missing)
			}
			out = append(out, dir)
		}
	}
	return out
}

// isFile reports whether a path is known to exist and not to be a folder.
func (r *reader) isFile(path string) bool {
	if r.stat == nil {
		return false
	}
	info, err := r.stat(path)
	return err == nil && !info.IsDir()
}

const idForm = `an id such as "golang.go"`

// extensionID returns the id in text, or records what is wrong with it.
func (g given) extensionID(rng hcl.Range, text string) (string, bool) {
	id := extensions.MakeID(text)
	if !id.Valid() || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == '/' }) {
		g.fail(rng, "invalid value for "+g.name, "%q is not %s: the publisher, a dot, and the name, as they are in its package.json.", text, idForm)
		return "", false
	}
	return string(id), true
}

// extensionIDs reads ids. It stores them in lower case, because case does not
// distinguish them.
func extensionIDs(dst *[]string) setting {
	const expect = `a list of ids such as ["golang.go"]`
	return setting{expect: expect,
		read: func(g given) {
			elems, _ := g.elements(expect, "")
			var out []string
			for _, e := range elems {
				text, ok := e.str(idForm)
				if !ok {
					continue
				}
				id, ok := e.extensionID(e.rng, text)
				switch {
				case !ok:
				case slices.Contains(out, id):
					e.bad("%q is in the list already.", text)
				default:
					out = append(out, id)
				}
			}
			*dst = out
		},
		show: func() string { return showStrings(*dst) },
	}
}

func affinity(d *extensionsDecl) setting {
	const expect = `a map of ids to numbers such as { "golang.go" = 2 }`
	return setting{expect: expect,
		read: func(g given) {
			entries, _ := g.entries(expect)
			out := make(map[string]int, len(entries))
			for _, e := range entries {
				id, ok := g.extensionID(e.keyRng, e.key)
				n := 0
				whole(&n, 1, maxAffinity).read(e.given)
				if !ok || n == 0 {
					continue
				}
				if _, twice := out[id]; twice {
					g.fail(e.keyRng, "written twice", "%q has a number already; ids that differ in case only are the same.", id)
					continue
				}
				out[id] = n
				d.affinity = append(d.affinity, e)
			}
			d.spec.Affinity = out
		},
		show: func() string {
			var parts []string
			for _, id := range slices.Sorted(maps.Keys(d.spec.Affinity)) {
				parts = append(parts, fmt.Sprintf("%q = %d", id, d.spec.Affinity[id]))
			}
			if parts == nil {
				return ""
			}
			return "{ " + strings.Join(parts, ", ") + " }"
		},
	}
}

func activationEvents(dst *[]string) setting {
	const expect = `a list of activation events such as ["onLanguage:go"]`
	return setting{expect: expect,
		read: func(g given) {
			events, ok := g.distinct(expect)
			for _, e := range events {
				if wrong := checkActivationEvent(e.val.AsString()); wrong != "" {
					e.bad("%s", wrong)
					ok = false
				}
			}
			if ok {
				*dst = values(events)
			}
		},
		show: func() string { return showStrings(*dst) },
	}
}

// checkActivationEvent returns what is wrong with an event that is to be requested,
// or "".
func checkActivationEvent(event string) string {
	switch {
	case event == "*" || event == "onStartupFinished":
		return fmt.Sprintf("%q is requested at every start; leave it out.", event)
	case strings.HasPrefix(event, "workspaceContains:"):
		return fmt.Sprintf("%q cannot be requested: hostsup looks for it in the folders of workspace.", event)
	case len(event) < 3 || !strings.HasPrefix(event, "on") || strings.ContainsFunc(event, unicode.IsControl):
		return fmt.Sprintf("%q is not an activation event such as \"onLanguage:go\" or \"onCommand:hello.greet\".", event)
	}
	return ""
}
