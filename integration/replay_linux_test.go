package integration

import (
	"encoding/json"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/evidence"
	"github.com/hostsup/hostsup/control/evidence/replay"
	"github.com/hostsup/hostsup/lifecycle"
	confine "github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/supervisor"
)

// A crash of a real host is replayed in a sandbox from its report, and the messages are found that it takes.
func TestReplayOfACrash(t *testing.T) {
	t.Parallel()
	confinable(t)
	for role, protocol := range crashers {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			spec := demoHost("gun", func(h *supervisor.HostSpec) { h.Protocol, h.Env = protocol, hostEnv(role) })
			keeper := evidence.New(evidence.Options{})
			sup := start(t, supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(spec)}}, supervisor.WithEvidence(keeper))
			fire(t, host(t, sup, "gun"), 6, map[string]any{"n": 7})
			r := crash(t, sup, "gun")
			e, _ := evidence.Of(&r)
			again, err := replay.Confined(spec, false)
			if err != nil {
				t.Fatal(err)
			}
			if p := again.Sandbox; p == nil || len(p.Write) > 0 || p.Network != confine.NetworkNone && p.Network != "" {
				t.Errorf("policy %+v", p)
			}
			list, left := replay.Messages(&e)
			if left != 0 {
				t.Errorf("%d messages are left out", left)
			}
			opt := replay.Options{Logger: logger(t)}
			got, err := replay.Run(ctx(t), again, list, e.Likeness.Key, opt)
			if err != nil || got.Outcome != replay.Same || got.Reason == "" {
				t.Fatalf("%+v, %v", got, err)
			}
			if other, err := replay.Run(ctx(t), again, list, "another", opt); err != nil || other.Outcome != replay.Other {
				t.Errorf("with another likeness %+v, %v", other, err)
			}
			opt.Wait = 300 * time.Millisecond
			smallest, whole, err := replay.Minimize(ctx(t), list, 100, func(list []evidence.Moment) (bool, error) {
				got, err := replay.Run(ctx(t), again, list, e.Likeness.Key, opt)
				return got.Outcome == replay.Same, err
			})
			var methods []string
			for _, m := range smallest {
				if m.Kind == evidence.KindSent && !strings.HasPrefix(m.Method, "initialize") {
					methods = append(methods, m.Method)
				}
			}
			if err != nil || !whole || strings.Join(methods, " ") != "arm fire" {
				t.Errorf("smallest %q, %v, %v; expected arm and fire", methods, whole, err)
			}
		})
	}
}

// The verb replays a crash of a running supervisor's host, which it leaves alone.
func TestReplayVerb(t *testing.T) {
	t.Parallel()
	confinable(t)
	d := daemonOf(t, `
host "gun" {
  command = [self, "demo-host"]
  env     = { MARK }
}
`)
	d.run()
	for _, q := range []control.Request{
		{Host: "gun", Method: "add", Params: json.RawMessage(`[1, 2]`)}, {Host: "gun", Method: "exit", Params: json.RawMessage(`{"code": 3}`)},
	} {
		_, err := d.client.Call(ctx(t), q)
		if crashes := q.Method == "exit"; crashes != (err != nil) {
			t.Fatalf("%s: %v", q.Method, err)
		}
	}
	var index *control.CrashIndex
	eventually(t, func() (ok bool) {
		var err error
		index, err = d.client.CrashIndex(ctx(t), "gun")
		return err == nil && len(index.Crashes) == 1 && d.hosts()["gun"].State == lifecycle.Running
	}, "a report, and the next life")
	id, life := index.Crashes[0].ID, d.hosts()["gun"].Life
	verb := func(want int, args ...string) string {
		t.Helper()
		cmd := exec.Command(hostsupBinary(t), append([]string{"replay", "-c", d.dir + "/config.hcl"}, args...)...)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != want {
			t.Errorf("replay %q: %v, expected exit %d\n%s", args, err, want, out)
		}
		return string(out)
	}
	mentions(t, verb(0, id), "it crashed again in the same way after 2 messages: exit 3")
	mentions(t, verb(0, id, "--bisect"), `smallest list after 2 tries: 1 message`+"\n"+`  request      exit {"code":3}`)
	var out struct {
		Result replay.Result
		Bisect struct{ Messages []evidence.Moment }
	}
	if text := verb(0, id, "--bisect", "--json"); json.Unmarshal([]byte(text), &out) != nil || out.Result.Outcome != replay.Same || len(out.Bisect.Messages) != 1 {
		t.Errorf("--json: %s", text)
	}
	mentions(t, verb(1, "2020"), "no crash report")
	verb(2, id, "--tries", "0")
	d.write("config.hcl", "host \"gun\" {\n  command = [self, \"demo-host\"]\n  env = { MARK }\n  sandbox {\n    profile = \"strict\"\n    exec = [self]\n  }\n}\n")
	verb(0, id)
	d.write("config.hcl", "host \"gun\" {\n  command = [\"/bin/cat\"]\n  protocol = \"jsonrpc-lines\"\n  env = { MARK }\n}\n")
	verb(1, id)
	d.write("config.hcl", "host \"other\" {\n  command = [self, \"demo-host\"]\n  env = { MARK }\n}\n")
	mentions(t, verb(5, id), `no host "gun" is configured`)
	if h := d.hosts()["gun"]; h.Life != life || h.State != lifecycle.Running {
		t.Errorf("the host that runs: %+v", h)
	}
	if code := d.end(syscall.SIGTERM); code != 0 {
		t.Errorf("run exits %d", code)
	}
}
