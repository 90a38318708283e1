package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/controltest"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/activation"
	"github.com/hostsup/hostsup/extensions/service"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// fake is a supervisor without processes: host "ts" is running and answers with the
// error that its method names, host "db" has failed.
func fake(t *testing.T) {
	t.Helper()
	sup := &controltest.Supervisor{Info: supervisor.Info{PID: 1, Version: "v1", Started: time.Now(), Kill: "group"}}
	ts := controltest.NewHost(record.HostStatus{Name: "ts", Group: "editor", State: lifecycle.Running, Life: 1})
	ts.Enc = native.New()
	ts.OnCall = func(_ context.Context, c control.Call) (codec.Raw, error) {
		if err := failures[c.Method]; err != nil {
			return nil, err
		}
		return c.Params, nil
	}
	ts.OnStream = func(_ context.Context, c control.Call) iter.Seq2[codec.Raw, error] {
		return func(yield func(codec.Raw, error) bool) {
			if yield(c.Params, nil) && failures[c.Method] != nil {
				yield(nil, failures[c.Method])
			}
		}
	}
	ts.OnVerb = func(ctx context.Context, verb string) error {
		if verb != "wait" {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ts.Output = []capture.Line{
		{Seq: 1, Time: at, Stream: capture.Stdout, Text: "one"},
		{Seq: 5, Time: at, Stream: capture.Stderr, Text: "two", Lost: 3},
		{Seq: 6, Time: at, Stream: capture.Note, Text: "a remark"},
	}
	db := controltest.NewHost(record.HostStatus{Name: "db", Group: "editor", State: lifecycle.Failed})
	db.OnVerb = func(_ context.Context, verb string) error {
		if verb == "start" {
			return &actors.StateError{Host: "db", Want: lifecycle.Running, State: lifecycle.Failed, Reason: "exit 3"}
		}
		return nil
	}
	sup.Members = []*controltest.Host{ts, db}
	sup.Units = []extensions.Status{
		{Host: "ts", Place: "ts", ID: "golang.go", Version: "0.52.2", State: "active", Why: "onLanguage:go",
			Activation: &extensions.Activation{Event: "onLanguage:go", CodeLoading: 12, ActivateCall: 30}},
		{Host: "ts", ID: "acme.theme", Version: "1.0.0", State: "inactive"},
	}
	sup.OnActivate = func(_ context.Context, _, event string) error {
		if event == "onCommand:fail" {
			return &service.ActivationError{Event: event, Errs: []*activation.Error{{ID: "golang.go", Cause: activation.ErrMissing, On: "acme.base"}}}
		}
		return nil
	}
	sup.OnRescan = func(_ context.Context, host string) ([]extensions.Difference, error) {
		if host == "" {
			return nil, nil
		}
		return []extensions.Difference{
			{Host: host, ID: "acme.css", Change: extensions.Added, After: "1.0.0"},
			{Host: host, ID: "golang.go", Change: extensions.Changed, Before: "0.52.1", After: "0.52.2"},
		}, nil
	}
	sup.OnLanguage = answersAboutFiles
	sup.Asking, sup.OnAnswer = openQuestions(at), answersQuestions
	sup.Shown = shownByExtensions(at)
	sup.Sources, sup.OnCommit = sourcesOfExtensions(), commits
	sup.Files = filesOfExtensions(at)
	sup.Tests = testsOfExtensions(at)
	sup.Trees, sup.OnAct = treesOfExtensions(), noCommands
	host, running := "ts", lifecycle.Running
	sup.History = []supervisor.Event{{Lost: 7}, {Seq: 8, Time: at, Kind: record.KindState, Host: &host, To: &running, Reason: "ready"}}
	sup.Reports = []record.CrashReport{{ID: "c1", Time: at, Host: "ts", Group: "editor", Life: 1, State: running, Reason: "exit 3"}}
	t.Setenv("HOSTSUP_SOCKET", controltest.Serve(t, sup, control.Options{Version: "v1"}))
}

func hostFailure(err error) error {
	return &actors.HostError{Host: "ts", Life: 1, Err: err, Reason: "why"}
}

func callFailure(err error) error { return &actors.CallError{Host: "ts", Method: "m", Err: err} }

// failures maps the called method to its error.
var failures = map[string]error{
	"crashed":        hostFailure(supervisor.ErrCrashed),
	"unresponsive":   hostFailure(supervisor.ErrUnresponsive),
	"stopped":        hostFailure(supervisor.ErrStopped),
	"failed":         hostFailure(supervisor.ErrFailed),
	"timed_out":      callFailure(supervisor.ErrTimeout),
	"cancelled":      callFailure(supervisor.ErrCancelled),
	"overloaded":     callFailure(supervisor.ErrOverloaded),
	"no_such_method": callFailure(supervisor.ErrNoSuchMethod),
	"no_protocol":    callFailure(supervisor.ErrNoProtocol),
	"closed":         supervisor.ErrClosed,
	"host_error":     &codec.Error{Name: "RangeError", Message: "boom", Code: 7, Stack: "at f"},
	"internal":       errors.New("disk on fire"),
}

// result is the result of one command line.
type result struct {
	code     int
	out, err string
}

func hostsupRun(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var out, errout bytes.Buffer
	code := newApp(strings.NewReader(stdin), &out, &errout).main(t.Context(), args)
	return result{code, out.String(), errout.String()}
}

func TestExitCodes(t *testing.T) {
	fake(t)
	t.Chdir(t.TempDir())
	bad := filepath.Join(t.TempDir(), "bad.hcl")
	if err := os.WriteFile(bad, []byte("host \"x\" {\n  comand = [\"x\"]\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		args string
		code int
		says string // on stderr
	}{
		{"status", 0, ""},
		{"status ts", 0, ""},
		{"status --check ts", 0, ""},
		{"status --check", 1, `host "db" is failed: next: hostsup start db`},
		{"status --json --check", 1, `host "db" is failed`},
		{"status xyz", 5, `no host "xyz" is configured (there are: ts, db, editor)`},
		{"status st", 5, `no host "st" is configured (there are: ts, db, editor; did you mean "ts"?)`},
		{"call ts echo", 0, ""},
		{"call tss echo", 5, `did you mean "ts"?`},
		{"call ts echo {", 2, "the argument is not JSON: line 1, column 2"},
		{"call ts", 2, "too few arguments"},
		{"call", 2, "HOST METHOD [JSON|-] is missing"},
		{"call ts echo 1 2", 2, `"2" is too much`},
		{"call ts echo --timeout -1s", 2, "negative"},
		{"call ts echo --timeout soon", 2, "a duration such as 500ms, 5s or 1m30s is expected"},
		{"call ts echo --retries 3", 2, "unknown flag"},
		{"call ts echo --timeuot 3s", 2, "unknown flag: --timeuot: did you mean --timeout?"},
		{"logs ts -n few", 2, "a whole number is expected"},
		{"notify ts echo", 0, ""},
		{"notify ts echo x", 2, "not JSON"},
		{"call ts echo hello", 2, `a string has quotes of its own, which the shell must leave: '"hello"'`},
		{"notify x echo", 5, "no host"},
		{"start ts", 0, ""},
		{"start db", 1, `hostsup: failed: host "db" is failed, not running: exit 3`},
		{"start db ts", 1, "is failed"},
		{"start ts nobody", 5, `no host "nobody"`},
		{"start", 2, "HOST is missing"},
		{"stop ts db", 0, ""},
		{"restart ts", 0, ""},
		{"reset", 2, "HOST or --all is missing"},
		{"reset ts --all", 2, "either HOST or --all"},
		{"reset --all", 0, ""},
		{"wait ts --state running --timeout 10ms", 1, `hostsup: timed_out: timed out after 10ms: host "ts" is`},
		{"wait ts", 2, "--state is missing: one of stopped, starting"},
		{"wait ts --state running,asleep", 2, `"asleep" is not a state`},
		{"wait ts --state running --timeout -1s", 2, "negative"},
		{"wait nobody --state running", 5, "no host"},
		{"events", 0, "hostsup: 7 events were missed here"},
		{"events ts", 2, "no argument is expected"},
		{"logs ts", 0, "hostsup: ts: 3 lines were missed here\nhostsup: ts: a remark\n"},
		{"logs ts -n -1", 2, "negative"},
		{"logs nobody", 5, "no host"},
		{"logs", 2, "HOST or --all is missing"},
		{"logs ts --all", 2, "either HOST or --all"},
		{"logs ts nobody", 5, "no host"},
		{"logs --all", 0, "hostsup: ts: 3 lines were missed here\nhostsup: ts: a remark\n"},
		{"crashes", 0, ""},
		{"crashes ts", 0, ""},
		{"crashes nobody", 5, "no host"},
		{"crashes show c1", 0, ""},
		{"crashes show c2", 1, `hostsup: no crash report "c2" is kept; hostsup crashes lists`},
		{"crashes show", 2, "ID is missing"},
		{"activate onLanguage:go", 0, ""},
		{"activate onLanguage:go --host ts", 0, ""},
		{"activate onCommand:nothing", 0, `no extension was activated by "onCommand:nothing": the extensions of ts (`},
		{"activate onCommand:fail", 1, "hostsup: not_active: onCommand:fail: golang.go: unknown dependency acme.base"},
		{"activate onLanguage:go --host db", 1, `host "db" has no extensions: there is no extensions block in its configuration`},
		{"activate onLanguage:go --host tss", 5, `did you mean "ts"?`},
		{"activate", 2, "EVENT is missing"},
		{"activate onLanguage:go onLanguage:css", 2, `"onLanguage:css" is too much`},
		{"extensions", 0, ""},
		{"extensions ts", 0, ""},
		{"extensions db", 1, `host "db" has no extensions`},
		{"extensions nobody", 5, "no host"},
		{"extensions ts db", 2, `"db" is too much`},
		{"extension", 2, "no verb given"},
		{"extension isolat golang.go", 2, `did you mean "isolate"?`},
		{"extension isolate", 2, "ID is missing"},
		{"extension disable golang.go", 0, ""},
		{"extension release golang.go --host ts", 0, ""},
		{"extension enable golan.go", 1, `hostsup: no extension "golan.go" is known (there are: golang.go, acme.theme; did you mean "golang.go"?)`},
		{"extension enable golang.go --host db", 1, `host "db" has no extensions`},
		{"extension enable golang.go --host nobody", 5, "no host"},
		{"extension rescan", 0, ""},
		{"extension rescan --host db", 1, `host "db" has no extensions`},
		{"extension rescan --host tss", 5, `did you mean "ts"?`},
		{"extension rescan ts", 2, `"ts" is too much: no argument is expected`},
		{"extension rescn", 2, `did you mean "rescan"?`},
		{"version", 0, ""},
		{"version --json", 0, ""},
		{"version please", 2, "no argument"},
		{"help", 0, ""},
		{"call --help", 0, ""},
		{"completion bash", 0, ""},
		{"completion zsh", 0, ""},
		{"completion fish", 0, ""},
		{"completion powershell", 0, ""},
		{"completion tcsh", 2, "not a shell that is known"},
		{"", 2, "no verb given"},
		{"stat", 2, `did you mean "start"?`},
		{"supervise", 2, `"supervise" is not a verb of hostsup: there are init, run, validate`},
		{"sandbox", 2, "no verb given: there are run, explain"},
		{"sandbox frob", 2, `"frob" is not a verb of hostsup sandbox: there are`},
		{"sandbox rum", 2, `did you mean "run"?`},
		{"sandbox run", 2, "CMD is missing"},
		{"sandbox run -- true", 2, "a policy is missing"},
		{"sandbox run --profile nosuch -- true", 125, `--profile: profile "nosuch": there is no such profile (use one of strict,`},
		{"sandbox run --policy nowhere.hcl -- true", 125, "cannot read nowhere.hcl"},
		{"sandbox run --policy " + bad + " -- true", 125, "bad.hcl:"},
		{"sandbox run --profile strict --deny /usr/x --level landlock -- true", 125, `--deny: deny[0] "/usr/x": it cannot be enforced at level landlock`},
		{"sandbox run --profile strict --read /nosuch/x -- true", 125, `--read: read[`},
		{"sandbox run --profile strict --env NO_SUCH_VARIABLE -- true", 2, "there is no variable of that name"},
		{"sandbox run --profile strict --level none -- no-such-command", 127, "no-such-command"},
		{"sandbox run --profile strict --level none -- /etc", 126, "/etc"},
		{"sandbox explain", 2, "a command is missing, or a policy"},
		{"sandbox explain --profile strict --level none", 0, ""},
		{"sandbox explain --profile strict --level none --json", 0, ""},
		{"sandbox profile", 0, ""},
		{"sandbox profile strict", 0, ""},
		{"sandbox profile nodes", 2, `did you mean "node"?`},
		{"sandbox doctor", 0, ""},
		{"sandbox doctor --json", 0, ""},
		{"sandbox selftest --level most", 2, "use full, no-cgroup or landlock"},
		{"validate", 3, "no configuration"},
		{"run", 3, "no configuration"},
		{"validate -c " + bad, 3, `bad.hcl`},
		{"run -c " + bad, 3, "comand"},
		{"validate -c nowhere.hcl", 3, "nowhere.hcl"},
		{"validate -c " + bad + " --var x", 2, "write NAME=VALUE"},
		{"--socket /nowhere/s status", 4, `no supervisor at /nowhere/s: start one with "hostsup run"`},
		{"--socket /nowhere/s status --json", 4, "no supervisor"},
		{"--socket " + strings.Repeat("x", 200) + " status", 2, "the system allows"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			r := hostsupRun(t, "", strings.Fields(tt.args)...)
			if r.code != tt.code {
				t.Errorf("exit %d, want %d", r.code, tt.code)
			}
			if !strings.Contains(r.err, tt.says) || tt.says == "" && r.err != "" {
				t.Errorf("stderr %q, want %q", r.err, tt.says)
			}
			if r.code == exitUsage && r.out != "" {
				t.Errorf("wrong use prints on stdout: %q", r.out)
			}
		})
	}
}

func TestOutput(t *testing.T) {
	t.Chdir(t.TempDir())
	tests := []struct{ args, stdin, want string }{
		{`call ts echo {"a":[1,"<é>"]}`, "", `{"a":[1,"<é>"]}` + "\n"},
		{"call ts echo", "", "null\n"},
		{"call ts echo -", " [1,\n 2] \n", "[1,2]\n"},
		{"call ts echo -- -5", "", "-5\n"},
		{"call ts echo 7 --stream", "", "7\n"},
		{"notify ts echo 7", "", ""},
		{"stop ts db", "", "ts: stopped (life 1)\ndb: stopped\n"},
		{"start ts db", "", "ts: running (life 1)\n"},
		{"logs ts", "", "one\ntwo\n"},
		{"logs --all", "", "ts | one\nts ! two\n"},
		{"logs editor -n 2", "", "ts ! two\n"},
		{"logs ts db --json -n 1", "", `{"host":"ts","seq":6,"time":"2026-03-01T12:00:00Z","life":0,"stream":"note","text":"a remark"}` + "\n"},
		{"logs ts -n 2 --json", "", `{"seq":5,"time":"2026-03-01T12:00:00Z","life":0,"stream":"stderr","text":"two","lost":3}
{"seq":6,"time":"2026-03-01T12:00:00Z","life":0,"stream":"note","text":"a remark"}
`},
		{"events --json", "", `{"lost":7}
{"seq":8,"time":"2026-03-01T12:00:00Z","kind":"state","group":null,"host":"ts","life":null,"pid":null,"from":null,"to":"running","reason":"ready","exit":null,"crash_id":null}
`},
		{"status db --json", "", `{
  "supervisor": {
    "pid": 1,
    "version": "v1",
    "started": %s,
    "config": null,
    "socket": null,
    "kill": "group",
    "missing": [],
    "configuration": null,
    "serves": []
  },
  "groups": [],
  "hosts": [
    {
      "name": "db",
      "group": "editor",
      "key": null,
      "protocol": "",
      "url": null,
      "state": "failed",
      "reason": null,
      "life": 0,
      "pid": null,
      "restarts": 0,
      "crashes": 0,
      "crashes_in_window": 0,
      "max_crashes": 0,
      "since": "0001-01-01T00:00:00Z",
      "started": null,
      "eager": false,
      "job": false,
      "done": false,
      "next_run": null,
      "stopped_by_person": false,
      "crash_id": null,
      "pending": 0,
      "liveness": "",
      "health": null,
      "last_exit": null,
      "rss_bytes": null,
      "cpu_seconds": null,
      "sandbox": {
        "level": "",
        "missing": []
      },
      "slow": false,
      "retry_in_seconds": null,
      "depends_on": [],
      "noise": 0,
      "log": {
        "written": 0,
        "written_bytes": 0,
        "lost": 0,
        "lost_bytes": 0,
        "error": null
      },
      "throttle": [],
      "startup_seconds": null,
      "activation_seconds": null,
      "calls": 0,
      "average_response_seconds": null
    }
  ],
  "exec_servers": []
}
`},
		{"--socket /nowhere/s status --json", "", `{"error":{"class":"no_supervisor","message":"no supervisor at /nowhere/s: start one with \"hostsup run\""}}` + "\n"},
		{"activate onLanguage:go", "", "golang.go: active in ts (42ms): onLanguage:go\n"},
		{"activate onCommand:nothing --json", "", "[]\n"},
		{"extension disable acme.theme", "", "acme.theme: inactive\n"},
		{"extension isolate acme.theme --json", "", `{"host":"ts","place":null,"id":"acme.theme","version":"1.0.0","state":"inactive","why":null,"activation":null,"blame":{"suspect_in":0,"quarantined":false,"decision":null},"activation_seconds":null,"calls":0,"average_response_seconds":null,"rss_bytes":null}` + "\n"},
		{"extension rescan", "", "nothing has changed\n"},
		{"extension rescan --json", "", "[]\n"},
		{"extension rescan --host ts", "", "ts: acme.css 1.0.0 was added\nts: golang.go 0.52.1 has become 0.52.2\n"},
		{"extension rescan --host ts --json", "", `[
  {
    "host": "ts",
    "id": "acme.css",
    "change": "added",
    "before": null,
    "after": "1.0.0"
  },
  {
    "host": "ts",
    "id": "golang.go",
    "change": "changed",
    "before": "0.52.1",
    "after": "0.52.2"
  }
]
`},
		{"extensions ts", "", "HOST  PLACE  EXTENSION   VERSION  STATE     ACTIVATED IN  SUSPECT IN  WHY\n" +
			"ts    ts     golang.go   0.52.2   active            42ms           -  onLanguage:go\n" +
			"ts    -      acme.theme  1.0.0    inactive             -           -\n"},
		{"__complete extension enable ", "", "golang.go\tactive\nacme.theme\tinactive\n:4\n"},
		{"__complete extension enable golang.go ", "", ":4\n"},
		{"__complete extension enable --host db ", "", ":4\n"},
		{"__complete extension resc", "", "rescan\tRead the folders of extensions again\n:4\n"},
		{"__complete extension rescan ", "", ":4\n"},
		{"__complete extension rescan --host ", "", "ts\n:4\n"},
		{"__complete activate onX --host ", "", "ts\n:4\n"},
		{"__complete extensions ", "", "ts\n:4\n"},
		{"__complete activate ", "", ":4\n"},
		{"__complete start t", "", "ts\trunning\ndb\tfailed\n:4\n"},
		{"__complete start ts ", "", "db\tfailed\n:4\n"},
		{"__complete call ts ", "", ":4\n"},
		{"__complete crashes show ", "", "c1\texit 3\n:36\n"},
		{"__complete wait ts --state un", "", "stopped\nstarting\nrunning\nunresponsive\ncrashed\nrestarting\nfailed\nstopping\n:4\n"},
		{"__complete wait ts --state running,fail", "", "running,stopped\nrunning,starting\nrunning,unresponsive\nrunning,crashed\nrunning,restarting\nrunning,failed\nrunning,stopping\n:4\n"},
		{"__complete events --messages ", "", "ts\trunning\ndb\tfailed\n:4\n"},
		{"__complete logs ts -n ", "", ":4\n"},
		{"__complete doctor ", "", ":4\n"},
		{"__complete remove ", "", "ts\trunning\ndb\tfailed\n:4\n"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			fake(t)
			args := strings.Split(tt.args, " ")
			got := hostsupRun(t, tt.stdin, args...).out
			want := tt.want
			if strings.Contains(want, "%s") { // a time that varies
				var st struct {
					Supervisor struct{ Started json.RawMessage }
				}
				if err := json.Unmarshal([]byte(got), &st); err != nil {
					t.Fatal(err)
				}
				want = fmt.Sprintf(want, st.Supervisor.Started)
			}
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// A verb of another version must not exist, not even hidden.
func TestVerbsOfThisVersion(t *testing.T) {
	want := "init run validate plan reload add remove upgrade secret sandbox exec-server exec call attach connect notify start stop restart reset wait activate extension lang answer status top events logs crashes replay extensions questions activity views scm file tests inspect console doctor conformance demo-host version completion shared-supervisor help"
	var got []string
	for _, c := range newApp(nil, nil, nil).root().Commands() {
		got = append(got, c.Name())
	}
	if strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
}
