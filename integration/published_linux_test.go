//go:build linux

package integration

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/extensions/manifest"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/supervisor"
)

// publishedHost is the real extension host of a release with extensions that
// others have published, a folder to work on, and what an editor has for them.
func publishedHost(t testing.TB, version string, dirs ...string) (sup *supervisor.Supervisor, w *workbench, work string) {
	t.Helper()
	w, talks := withWorkbench()
	spec := &plan.Spec{}
	for _, dir := range dirs {
		spec.Folders = append(spec.Folders, manifest.Root{Dir: published(t, dir)})
	}
	work = t.TempDir()
	sup, w.host = alone(t, vscodeHost(t, version, talks, func(s *supervisor.HostSpec) {
		root, _ := vscode.Root(s.Command)
		s.Protocol = vscode.New(vscode.Options{
			Root: root, State: filepath.Join(t.TempDir(), "state"), Workspace: &vscode.Workspace{Folders: []string{work}},
			Settings: map[string]any{"typescript.tsdk": published(t, "typescript") + "/lib"},
		})
		s.Extensions = spec
	}))
	return sup, w, work
}

// everyRelease runs a test with each release.
func everyRelease(t *testing.T, test func(t *testing.T, version string)) {
	t.Parallel()
	for version := range releases {
		t.Run(version, func(t *testing.T) { t.Parallel(); test(t, version) })
	}
}

// request requests activation events.
func request(t testing.TB, sup *supervisor.Supervisor, events ...string) {
	t.Helper()
	for _, event := range events {
		if err := sup.Activate(ctx(t), "", event); err != nil {
			t.Fatal(err)
		}
	}
}

// written is a new file with a text.
func written(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// same compares texts.
func same(t testing.TB, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// HTML: a formatter, and what a language has, from a server that the extension
// starts itself.
func TestPublishedHTML(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, w, work := publishedHost(t, version, "@theia/vscode-builtin-html-language-features")
		request(t, sup, "onLanguage:html")
		text := "<body><div><p>a</p></div></body>\n<di\n"
		path := written(t, work, "page.html", text)
		w.opens(t, path, "html", text)
		same(t, w.formats(t, path, "html"), "<body>\n  <div>\n    <p>a</p>\n  </div>\n</body>\n<di")
		w.hovers(t, path, "html", 1, 9, "div element")
		w.completes(t, path, "html", 2, 4, "div")
	})
}

// Astro: a language of somebody else's, which makes use of TypeScript.
func TestPublishedAstro(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, w, work := publishedHost(t, version, "astro-vscode")
		// Which TypeScript it is to use: what its command "select version" keeps.
		w.kept["astro-build.astro-vscode"] = `{"typescript.useWorkspaceTsdk":true}`
		text := "---\nconst   name = 1\n---\n<div><p>{name}</p></div>\n<bod\n"
		path := written(t, work, "page.astro", text)
		request(t, sup, "onLanguage:astro")
		w.opens(t, path, "astro", text)
		same(t, w.formats(t, path, "astro"), "---\nconst name = 1;\n---\n\n<div><p>{name}</p></div>\n<bod\n")
		w.hovers(t, path, "astro", 2, 10, "const name: 1")
		w.completes(t, path, "astro", 5, 5, "body")
	})
}

// Git: commands, which run a program.
func TestPublishedGit(t *testing.T) {
	peer(t, "git")
	everyRelease(t, func(t *testing.T, version string) {
		sup, w, work := publishedHost(t, version, "@theia/vscode-builtin-git")
		request(t, sup, "*")
		// It looks for git first, and then registers them.
		eventually(t, func() bool { return executes(t, w.host, nil, "git.init", true) == nil }, "git.init")
		if _, err := os.Stat(filepath.Join(work, ".git", "HEAD")); err != nil {
			t.Error(err)
		}
	})
}

// What a release comes with, in one host: formatters, languages, diagnostics,
// and commands that change the text.
func TestPublishedWithTheEditor(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		own, _ := strings.CutPrefix(releases[version].root, peerDir+"/")
		dirs := []string{}
		for _, name := range []string{"json-language-features", "css-language-features", "emmet", "merge-conflict", "markdown-language-features", "typescript-language-features"} {
			dirs = append(dirs, own+"/extensions/"+name)
		}
		sup, w, work := publishedHost(t, version, dirs...)
		request(t, sup, "onLanguage:json", "onLanguage:css", "onLanguage:html", "onLanguage:markdown", "onLanguage:typescript", "onStartupFinished")

		text := "{\"a\":1,\n\"a\":[2]"
		path := written(t, work, "data.json", text)
		w.opens(t, path, "json", text)
		same(t, w.formats(t, path, "json"), "{\n  \"a\": 1,\n  \"a\": [\n    2\n  ]")
		w.complains(t, path, "Expected comma or closing brace")
		w.complains(t, path, "Duplicate object key")

		text = "p{color:red}\na{ dis }\n"
		path = written(t, work, "style.css", text)
		w.opens(t, path, "css", text)
		same(t, w.formats(t, path, "css"), "p {\n  color: red\n}\n\na {\n  dis\n}")
		w.hovers(t, path, "css", 1, 3, "color")
		w.completes(t, path, "css", 2, 7, "display")

		text = "ul>li*2"
		path = written(t, work, "list.html", text)
		w.opens(t, path, "html", text)
		w.completes(t, path, "html", 1, 8, "ul>li*2")

		text = "const answer: number = 42;\nansw\n"
		path = written(t, work, "code.ts", text)
		w.opens(t, path, "typescript", text)
		w.hovers(t, path, "typescript", 1, 8, "const answer: number")

		text = "one\n<<<<<<< HEAD\ntwo\n=======\nthree\n>>>>>>> other\nfour\n"
		path = written(t, work, "merge.txt", text)
		w.opens(t, path, "plaintext", text)
		eventually(t, func() bool {
			if err := executes(t, w.host, nil, "merge-conflict.accept.all-incoming"); err != nil {
				t.Log(err)
			}
			return w.text(t, path) == "one\nthree\nfour\n"
		}, "all incoming changes are accepted")
	})
}

// With the program and a configuration, as its user has them: everything that a
// release comes with, and two of others.
func TestPublishedFromConfiguration(t *testing.T) {
	t.Parallel()
	peer(t, "git")
	work := t.TempDir()
	s := vscodeHost(t, "1.100.3")
	root, _ := vscode.Root(s.Command)
	p := launched(t, s, fmt.Sprintf(`extensions {
    builtin   = [%q]
    user      = [%q, %q]
    disabled  = ["vscode.git", "vscode.html-language-features"]
    workspace = [%q]
    storage   = %q
  }`, root+"/extensions", published(t, "@theia/vscode-builtin-git"), published(t, "@theia/vscode-builtin-html-language-features"), work, t.TempDir()))
	out, err := p.says("activate", "onLanguage:html")
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	mentions(t, out, "vscode.@theia/vscode-builtin-html-language-features: active in code")
	eventually(t, func() bool {
		_, err := p.says("call", "code", execute, `["git.init", true]`)
		return err == nil
	}, "git.init")
	if _, err := os.Stat(filepath.Join(work, ".git", "HEAD")); err != nil {
		t.Error(err)
	}
	p.ends(t)
}

// program is the program as it is shipped, with a configuration of one host of
// VS Code.
type program struct {
	t    testing.TB
	dir  string
	run  *exec.Cmd
	said bytes.Buffer
	over bool
}

// launched runs it and waits until it answers. block is in the host's.
func launched(t testing.TB, s supervisor.HostSpec, block string) *program {
	t.Helper()
	hostsupBinary(t)                   // it is no part of what is waited for
	dir, err := os.MkdirTemp("", "p-") //nolint:usetesting // short, for the sockets in it, and for what a killed one leaves
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	p := &program{t: t, dir: dir}
	written(t, p.dir, "config.hcl", fmt.Sprintf(`
supervisor {
  socket    = %q
  state_dir = %q
}
host "code" {
  command     = [%q, %q, %q]
  protocol    = "vscode"
  inherit_env = ["PATH", "HOME", "TMPDIR"]
  start { timeout = "90s" }
  stop { grace = "90s" }
  %s
}`, filepath.Join(p.dir, "s"), filepath.Join(p.dir, "state"), s.Command[0], s.Command[1], s.Command[2], block))
	p.run = p.command("run")
	p.run.Env = append(os.Environ(), "HOME="+dir, "TMPDIR="+dir)
	p.run.Stdout, p.run.Stderr = &p.said, &p.said
	if err := p.run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !p.over {
			_ = p.run.Process.Kill()
			_ = p.run.Wait() // it was killed
		}
		if t.Failed() {
			t.Log(p.said.String())
		}
	})
	eventually(t, func() bool { _, err := p.says("status"); return err == nil }, "it answers")
	return p
}

func (p *program) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx(p.t), hostsupBinary(p.t), args...)
	cmd.Dir = p.dir
	return cmd
}

// says is what one of its verbs prints.
func (p *program) says(args ...string) (string, error) {
	out, err := p.command(args...).CombinedOutput()
	return string(out), err
}

// ends ends it as a person would.
func (p *program) ends(t testing.TB) {
	t.Helper()
	p.over = true
	_ = p.run.Process.Signal(syscall.SIGTERM)
	if err := p.run.Wait(); err != nil {
		t.Error(err)
	}
}
