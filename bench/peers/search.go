package peers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/hosted"
	"github.com/hostsup/hostsup/extensions/manifest"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/supervisor"
)

// Searcher searches a tree of files.
type Searcher interface {
	// Files returns how many files there are.
	Files(ctx context.Context) (int, error)
	// Text returns how many lines contain SearchText.
	Text(ctx context.Context) (int, error)
	// Close ends what searches.
	Close() error
}

// SearchText is what is searched for.
const SearchText = "needle"

// Commands of the extension that searches.
const (
	commandFiles = "bench.files"
	commandText  = "bench.text"
)

// WriteTree makes a tree of n files, of which every hundredth has a line with SearchText.
func WriteTree(dir string, n int) error {
	for i := range n {
		at := filepath.Join(dir, fmt.Sprintf("d%d/e%d", i%40, i/40%10))
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		text := ""
		for j := range 40 {
			text += fmt.Sprintf("export const value%d = %d; // line %d of a file\n", j, i*j, j)
		}
		if i%100 == 0 {
			text += SearchText + "\n"
		}
		if err := os.WriteFile(filepath.Join(at, fmt.Sprintf("f%d.ts", i)), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Searches starts an extension host under a supervisor, with an extension that searches the folder.
func Searches(v VSCodeHost, folder string) (Searcher, error) {
	script := fmt.Sprintf(`const vscode = require('vscode');
exports.activate = (context) => context.subscriptions.push(
  vscode.commands.registerCommand(%q, async () => (await vscode.workspace.findFiles('**/*')).length),
  vscode.commands.registerCommand(%q, async () => {
    let n = 0;
    await vscode.workspace.findTextInFiles({ pattern: %q }, {}, () => n++);
    return n;
  }));
`, commandFiles, commandText, SearchText)
	c, err := editorWith(v, folder, "onCommand:"+commandFiles, script)
	return &hostSearcher{c}, err
}

// editorWith starts an extension host under a supervisor, with an extension that is activated.
func editorWith(v VSCodeHost, folder, event, script string) (c hostsupConn, err error) {
	at := filepath.Join(v.Extensions, "measured")
	manifestText := fmt.Sprintf(`{"name": "measured", "publisher": "bench", "version": "1.0.0", "engines": {"vscode": "^1.60.0"}, "main": "./main.js",
"activationEvents": [%q], "enabledApiProposals": ["findTextInFiles"]}`, event)
	if err := errors.Join(os.MkdirAll(at, 0o755), os.WriteFile(filepath.Join(at, "package.json"), []byte(manifestText), 0o644),
		os.WriteFile(filepath.Join(at, "main.js"), []byte(script), 0o644)); err != nil {
		return c, err
	}
	h := supervisor.HostSpec{
		Name: "code", Command: v.command(), InheritEnv: []string{"PATH", "HOME"},
		Protocol:   vscode.New(vscode.Options{Root: v.Root, State: v.State, Workspace: &vscode.Workspace{Folders: []string{folder}}}),
		Extensions: &plan.Spec{Folders: []manifest.Root{{Dir: v.Extensions, Origin: extensions.User}}},
	}
	h.Requests.Timeout = time.Hour
	c.s, c.h, err = supervise(supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(h)}, Parts: []supervisor.Part{hosted.Part{}}})
	if err != nil {
		return c, err
	}
	if err := c.s.Activate(context.Background(), "", event); err != nil {
		return c, errors.Join(err, c.Close())
	}
	return c, nil
}

type hostSearcher struct{ hostsupConn }

func (c *hostSearcher) count(ctx context.Context, command string) (n int, err error) {
	err = c.h.Call(ctx, execute, []any{command}, &n)
	return n, err
}

func (c *hostSearcher) Files(ctx context.Context) (int, error) { return c.count(ctx, commandFiles) }
func (c *hostSearcher) Text(ctx context.Context) (int, error)  { return c.count(ctx, commandText) }

var asEditor = []string{
	"--no-config", "--hidden", "--no-ignore", "--follow",
	"-g", "!**/.git", "-g", "!**/.svn", "-g", "!**/.hg", "-g", "!**/.DS_Store", "-g", "!**/Thumbs.db",
}

// Ripgrep is a Searcher that runs ripgrep, with what an editor leaves out and follows by default,
// and reads what it prints.
type Ripgrep struct{ Program, Dir string }

// FindRipgrep returns a Searcher for a folder. The error is ErrMissing if ripgrep is not there.
func FindRipgrep(dir string) (*Ripgrep, error) {
	program, err := exec.LookPath("rg")
	if err != nil {
		return nil, errors.Join(err, ErrMissing)
	}
	return &Ripgrep{program, dir}, nil
}

// Files implements Searcher.
func (r *Ripgrep) Files(ctx context.Context) (int, error) { return r.lines(ctx, "--files") }

// Text implements Searcher.
func (r *Ripgrep) Text(ctx context.Context) (int, error) {
	return r.lines(ctx, "--fixed-strings", "--ignore-case", SearchText)
}

func (r *Ripgrep) lines(ctx context.Context, args ...string) (n int, err error) {
	cmd := exec.CommandContext(ctx, r.Program, append(append(slices.Clone(asEditor), args...), "./")...)
	cmd.Dir = r.Dir
	out, err := cmd.Output()
	for _, b := range out {
		if b == '\n' {
			n++
		}
	}
	return n, err
}

// Close implements Searcher.
func (r *Ripgrep) Close() error { return nil }
