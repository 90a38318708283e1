//go:build linux

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/supervisor"
	lang "github.com/hostsup/hostsup/workbench/language"
)

// A scenario is what a real extension does with a workspace, asked through all doors: see TestScenarios.
//
// To add one, append a value to languageScenarios, builtinScenarios or popularScenarios. Each step is a
// question about a position (Feature and At), or a command (Command and Arguments). Want lists texts that
// must be in the answer, and each answer is written as hostsup lang prints it, whichever door it came
// through: FILE:LINE:COL and what is there. So a Want is a name, or "a.ts:1:5 function one". A step
// is asked at least eight times: Before brings the workspace into the state that the step expects, and Disk
// names files of the workspace with a part of the text that they must have afterwards. $WORK in arguments
// and wants is the path of the workspace, $FILE its URI without the slash at the end.
//
// A door that has no such answer is in absentFeatures, or with a reason in Without of a step. It is asked
// all the same and must fail, so that a reason that no longer holds is noticed. The page docs/scenarios.md is written by
//
//	go test -run TestScenariosPage ./integration -update
type scenario struct {
	ID         string            // of the extension, publisher.name
	Extensions []string          // its folder and those that it needs: below extensions of the release, npm:PACKAGE, own:NAME below testdata, client:NAME of languageClients, or typescript-next
	Settings   map[string]any    // of the user
	Questions  map[string]string // answers of questions, by patterns
	Files      map[string]string // of the workspace
	Before     func(t testing.TB, work string)
	Steps      []scenarioStep
	Only       string // a release, if the other one does not have the extension; Why says so
	Why        string
	Lacks      string // what it has in VS Code, and not here
	Late       bool   // its server answers with nothing until it has read the workspace, also after a kill
}

type scenarioStep struct {
	Feature lang.Feature
	At      string // FILE:LINE:COL, or what workspace-symbols looks for
	Text    string // the new name of rename, and what was typed for completion and signature
	Kind    string // of actions

	Command   string
	Arguments []any

	Want    []string
	Not     []string
	Disk    map[string]string
	Before  func(t testing.TB, work string)
	Without map[string]string // door → why the answer does not exist there
	Wants   map[string][]string
	Varies  bool // the answer has parts that differ each time, so that answers are not compared with each other
}

// String returns the step as the name of a row.
func (s scenarioStep) String() string {
	if s.Command != "" {
		return s.Command
	}
	if s.Kind != "" {
		return string(s.Feature) + " " + s.Kind
	}
	return string(s.Feature)
}

// numbersOfResults are what a host counts.
var numbersOfResults = regexp.MustCompile(`,?"ref":"\d+/\d+"`)

// isSame reports whether two answers are the same. Their lines may be in another order, because language
// servers find files in another one.
func (s scenarioStep) isSame(a, b string) bool {
	sorted := func(text string) []string {
		lines := strings.Split(numbersOfResults.ReplaceAllString(text, ""), "\n")
		slices.Sort(lines)
		return lines
	}
	return s.Varies || slices.Equal(sorted(a), sorted(b))
}

func (s scenario) String() string { return s.ID }

// allScenarios returns those of all lists.
func allScenarios() []scenario {
	return slices.Concat(languageScenarios, []scenario{typescriptScenario}, textScenarios, builtinScenarios, refusedScenarios, popularScenarios, serverScenarios)
}

// scenarioRun is a scenario that runs.
type scenarioRun struct {
	scenario
	t     *testing.T
	work  string
	sup   *supervisor.Supervisor
	code  *supervisor.Host
	doors []door
	mark  string
}

// door is a way to ask extensions. ask returns the answer as lines of text.
type door interface {
	name() string
	ask(s scenarioStep) (string, error)
}

// TestScenarios asks real extensions through Go, the command line, LSP and MCP, with a kill -9 while a
// question of each door is at the host.
func TestScenarios(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		for _, s := range allScenarios() {
			if s.Only != "" && s.Only != version {
				continue
			}
			t.Run(s.ID, func(t *testing.T) {
				t.Parallel()
				runScenario(t, version, s)
			})
		}
	})
}

func runScenario(t *testing.T, version string, s scenario) {
	sc := openScenario(t, version, s)
	before := sc.asksAll(true)
	sc.dies(before)
	after := sc.asksAll(s.Late)
	for i, s := range sc.Steps {
		for _, d := range sc.doors {
			if was, is := before[i][d.name()], after[i][d.name()]; !s.isSame(was, is) {
				t.Errorf("%s, %s: after the kill\n%s\nbefore\n%s", s, d.name(), is, was)
			}
		}
	}
	sc.ends()
}

// openScenario starts a supervisor with the host of a scenario, and its doors.
func openScenario(t *testing.T, version string, s scenario) *scenarioRun {
	t.Helper()
	dir, err := os.MkdirTemp("", "s-") //nolint:usetesting // short, for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	sc := &scenarioRun{scenario: s, t: t, work: filepath.Join(dir, "work"), mark: filepath.Base(dir)}
	for _, name := range append(slices.Sorted(maps.Keys(s.Files)), "") {
		path := filepath.Join(sc.work, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if name != "" {
			written(t, filepath.Dir(path), filepath.Base(path), s.Files[name])
		}
	}
	if s.Before != nil {
		s.Before(t, sc.work)
	}
	path := written(t, dir, "config.hcl", sc.config(version, dir))
	file, diags := config.Load(path, config.Options{})
	if file == nil {
		t.Fatal(diags)
	}
	file.Spec.StateDir, file.Spec.Parts = filepath.Join(dir, "state"), nil // start adds them
	sc.sup = start(t, file.Spec)
	socket := filepath.Join(dir, "control")
	l, err := control.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := control.NewServer(control.Over(sc.sup), control.Options{})
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	t.Cleanup(func() {
		if err := errors.Join(srv.Close(context.Background()), <-served); err != nil {
			t.Error(err)
		}
	})
	sc.code = host(t, sc.sup, "code")
	sc.doors = []door{&goDoor{sc}, &verbDoor{sc, socket}, newLSPDoor(sc, socket), newMCPDoor(sc, socket)}
	return sc
}

// config returns the configuration of the host.
func (sc *scenarioRun) config(version, dir string) string {
	spec := vscodeHost(sc.t, version)
	builtin, user := []string{}, []string{}
	for _, e := range sc.Extensions {
		if name, client := strings.CutPrefix(e, "client:"); client {
			user = append(user, clientExtension(sc.t, name))
		} else if name, npm := strings.CutPrefix(e, "npm:"); npm {
			user = append(user, published(sc.t, name))
		} else if name, own := strings.CutPrefix(e, "own:"); own {
			user = append(user, ownExtension(sc.t, name))
		} else if e == "typescript-next" {
			user = append(user, typescriptNext(sc.t))
		} else {
			builtin = append(builtin, builtinExtension(sc.t, version, e))
		}
	}
	quoted := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			sc.t.Fatal(err)
		}
		return strings.ReplaceAll(string(raw), "${", "$${")
	}
	settings := map[string]any{"typescript.tsdk": published(sc.t, "typescript") + "/lib"}
	maps.Copy(settings, sc.Settings)
	commands := []string{}
	for _, s := range sc.Steps {
		if s.Command != "" && !slices.Contains(commands, s.Command) {
			commands = append(commands, s.Command)
		}
	}
	var questions strings.Builder
	for _, pattern := range slices.Sorted(maps.Keys(sc.Questions)) {
		fmt.Fprintf(&questions, "    question %s { answer = %s }\n", quoted(pattern), quoted(sc.Questions[pattern]))
	}
	var out strings.Builder
	fmt.Fprintf(&out, "supervisor { state_dir = %q }\n", filepath.Join(dir, "state"))
	fmt.Fprintf(&out, `host "code" {
  command  = %[1]s
  protocol = "vscode"
  env      = { HOME = %[2]q, TMPDIR = %[2]q, PATH = %[3]q, SCENE = %[4]q }
  start { timeout = "5m" }
  stop { grace = "5m" }
  unresponsive { after = "5m" }
  extensions {
    builtin   = %[5]s
    user      = %[6]s
    workspace = [%[7]q]
    storage   = %[8]q
    settings  = %[9]s
    serve "lsp" { commands = %[10]s }
    serve "mcp" {
      languages = true
      commands  = %[10]s
    }
%[11]s  }
}
`, quoted(spec.Command), spec.Env["HOME"], spec.Env["PATH"], sc.mark, quoted(builtin), quoted(user), sc.work,
		filepath.Join(dir, "storage"), quoted(settings), quoted(commands), questions.String())
	return out.String()
}

// asksAll asks all steps through all doors, and returns the answers by step and door. The first time
// extensions may need a while until they have read the workspace.
func (sc *scenarioRun) asksAll(first bool) []map[string]string {
	sc.t.Helper()
	out := make([]map[string]string, len(sc.Steps))
	for i, s := range sc.Steps {
		out[i] = map[string]string{}
		for _, d := range sc.doors {
			if why := absent(d, s); why != "" {
				if first {
					if text, err := d.ask(sc.filled(s)); err == nil {
						sc.t.Errorf("%s, %s: %q was answered, although %s", s, d.name(), text, why)
					}
				}
				continue
			}
			out[i][d.name()] = sc.asks(d, s, first)
		}
	}
	return out
}

// absent returns why a door does not have the answer to a step, "" if it does.
func absent(d door, s scenarioStep) string {
	if why := s.Without[d.name()]; why != "" {
		return why
	}
	if s.Command != "" {
		return ""
	}
	return absentFeatures[d.name()][s.Feature]
}

// asks asks a step through a door and returns the answer. waits is how the first question is asked.
func (sc *scenarioRun) asks(d door, s scenarioStep, waits bool) string {
	sc.t.Helper()
	if s.Before != nil {
		s.Before(sc.t, sc.work)
	}
	var text, wrong string
	try := func() bool {
		answer, err := d.ask(sc.filled(s))
		text = unescaped(answer)
		wrong = sc.judge(d, s, text, err)
		return wrong == ""
	}
	if !try() && (!waits || !poll.Within(slow, try)) {
		sc.t.Errorf("%s, %s: %s", s, d.name(), wrong)
	}
	return text
}

// unescaped returns a text without the escapes that encoders of JSON may write or not.
func unescaped(text string) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(text)
}

// slow is how long an extension may take until it has read its workspace.
const slow = 20 * time.Second

// judge returns what is wrong with an answer, "" for nothing.
func (sc *scenarioRun) judge(d door, s scenarioStep, text string, err error) string {
	if err != nil {
		return err.Error()
	}
	want := s.Want
	if own, ok := s.Wants[d.name()]; ok {
		want = own
	}
	for _, w := range want {
		if w = sc.fill(w); !strings.Contains(text, w) {
			return fmt.Sprintf("%q is not in\n%s", w, text)
		}
	}
	for _, w := range s.Not {
		if strings.Contains(text, sc.fill(w)) {
			return fmt.Sprintf("%q is in\n%s", w, text)
		}
	}
	for name, part := range s.Disk {
		raw, err := os.ReadFile(filepath.Join(sc.work, name))
		if err != nil || !strings.Contains(string(raw), part) {
			return fmt.Sprintf("%s: %q is not in %q, %v", name, part, raw, err)
		}
	}
	return ""
}

func (sc *scenarioRun) fill(text string) string {
	return strings.NewReplacer("$WORK", sc.work, "$FILE", "file://"+sc.work).Replace(text)
}

// filled returns a step with the paths of the workspace.
func (sc *scenarioRun) filled(s scenarioStep) scenarioStep {
	raw, err := json.Marshal(s.Arguments)
	if err != nil {
		sc.t.Fatal(err)
	}
	s.Arguments = nil
	if err := json.Unmarshal([]byte(sc.fill(string(raw))), &s.Arguments); err != nil {
		sc.t.Fatal(err)
	}
	if s.Arguments == nil {
		s.Arguments = []any{}
	}
	return s
}

// dies kills the host while a question of each door waits for their answer. Questions that only read are
// asked again in the next life and have the answers of before; a command fails.
func (sc *scenarioRun) dies(before []map[string]string) {
	sc.t.Helper()
	signal(sc.t, sc.code, syscall.SIGSTOP) // so that the questions are not answered
	type answer struct {
		text string
		err  error
	}
	answers := map[string]chan answer{}
	asked := map[string]int{}
	for _, d := range sc.doors {
		i := slices.IndexFunc(sc.Steps, func(s scenarioStep) bool {
			return absent(d, s) == "" && s.Feature != lang.FeatureDiagnostics
		})
		if i < 0 {
			continue
		}
		if j := slices.IndexFunc(sc.Steps, func(s scenarioStep) bool { // a question, if there is one
			return s.Command == "" && absent(d, s) == "" && s.Feature != lang.FeatureDiagnostics
		}); j >= 0 {
			i = j
		}
		asked[d.name()] = i
		c := make(chan answer, 1)
		answers[d.name()] = c
		pending := sc.code.Status().Pending
		go func() {
			text, err := d.ask(sc.filled(sc.Steps[i]))
			c <- answer{unescaped(text), err}
		}()
		eventually(sc.t, func() bool { return sc.code.Status().Pending > pending }, sc.Steps[i], "through", d.name(), "is at the host")
	}
	life := sc.code.Status().Life
	signal(sc.t, sc.code, syscall.SIGKILL)
	for name, c := range answers {
		a, i := <-c, asked[name]
		switch s := sc.Steps[i]; {
		case s.Command != "" && a.err == nil:
			sc.t.Errorf("%s, %s: a command that was executing when its host was killed has the result %q", s, name, a.text)
		case s.Command == "" && (a.err != nil || !s.isSame(a.text, before[i][name]) && !sc.Late):
			sc.t.Errorf("%s, %s, during the kill: %v\n%s\nbefore\n%s", s, name, a.err, a.text, before[i][name])
		}
	}
	runs(sc.t, sc.code, life+1)
}

// ends stops all, and looks for what is left and who is blamed.
func (sc *scenarioRun) ends() {
	sc.t.Helper()
	all, err := sc.sup.Extensions("code")
	if err != nil || len(all) == 0 {
		sc.t.Errorf("%d extensions, %v", len(all), err)
	}
	for _, e := range all {
		if e.Blame.SuspectIn > 0 || e.Blame.Quarantined || e.State == "failed" || e.State == "disabled" {
			sc.t.Errorf("%s %s, %+v", e.ID, e.State, e.Blame)
		}
	}
	end(sc.t, sc.sup)
	eventually(sc.t, func() bool { return len(having("SCENE="+sc.mark)) == 0 }, "the end of the processes")
}
