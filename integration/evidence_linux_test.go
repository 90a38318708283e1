package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/control/evidence"
	"github.com/hostsup/hostsup/intercept/secret"
	"github.com/hostsup/hostsup/supervisor"
)

// fire has a host crash: it is armed among idle messages, and fired.
func fire(t *testing.T, h *supervisor.Host, idle int, params any) {
	t.Helper()
	for i := range idle {
		if err := h.Call(ctx(t), "idle", map[string]any{"n": i}, nil); err != nil {
			t.Fatal(err)
		}
		if i == idle/2 {
			if err := errors.Join(h.Notify(ctx(t), "idle", nil), h.Call(ctx(t), "arm", params, nil)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := h.Call(ctx(t), "fire", params, nil); err == nil {
		t.Fatal("it did not crash")
	}
}

// The report of a real host has the messages before its crash, and no secret.
func TestEvidenceOfACrash(t *testing.T) {
	t.Parallel()
	const token, bearer, hidden = "the-value-of-the-token", "abcdefghijklmnop1234", "said \"only\" to the host"
	github := "ghp_" + strings.Repeat("a1B2", 9) // no scanner shall take this file for a leak
	for role, protocol := range crashers {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			spec := demoHost("gun", func(h *supervisor.HostSpec) { h.Protocol, h.Env = protocol, hostEnv(role) })
			spec.Env["TOKEN"] = token
			spec.Secrets.Env = map[string]secret.Text{"HIDDEN": secret.Reference("hidden")}
			keeper := evidence.New(evidence.Options{})
			sup := start(t, supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(spec)}, StateDir: dir, Secrets: &cabinet{all: map[string]string{"hidden": hidden}}}, supervisor.WithEvidence(keeper))
			params := map[string]any{"headers": map[string]any{"Authorization": "Bearer " + bearer}, "note": "with " + github + " and " + token, "hidden": []any{hidden}, "n": 7}
			fire(t, host(t, sup, "gun"), 4, params)
			r := crash(t, sup, "gun")
			e, ok := evidence.Of(&r)
			if !ok {
				t.Fatalf("no evidence in %+v", r)
			}
			var got []string
			events := 0
			for _, m := range e.Timeline {
				switch {
				case m.Kind == evidence.KindEvent:
					events++
				case m.Kind == evidence.KindSent && (m.Method == "arm" || m.Method == "idle" || m.Method == "fire"):
					got = append(got, m.Type+" "+m.Method)
					if m.Cut || !json.Valid(m.Params) || m.Method == "fire" && !bytes.Contains(m.Params, []byte(`"n":7`)) {
						t.Errorf("params of %+v: %s", m, m.Params)
					}
				}
			}
			if want := "request idle, request idle, request idle, notification idle, request arm, request idle, request fire"; strings.Join(got, ", ") != want {
				t.Errorf("sent: %s\nexpected %s", strings.Join(got, ", "), want)
			}
			if events == 0 {
				t.Errorf("no events in %+v", e.Timeline)
			}
			if e.Likeness.Basis != evidence.BasisStack || len(e.Likeness.Frames) != 2 || e.Likeness.Title != "TypeError: no target in <path> after <n> messages" {
				t.Errorf("likeness %+v", e.Likeness)
			}
			if jsonHost := strings.HasSuffix(role, "headers") || strings.HasSuffix(role, "lines"); jsonHost && e.Program != "crasher 1.2.3" {
				t.Errorf("program %q", e.Program)
			}
			end(t, sup)
			files, err := filepath.Glob(filepath.Join(dir, "crashes*", "*"))
			if err != nil || len(files) != 1 {
				t.Fatalf("%q, %v", files, err)
			}
			for _, path := range append(files, filepath.Join(dir, "crashes.index")) {
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				for _, secret := range []string{token, bearer, github, hidden, `said \"only\" to the host`} {
					if bytes.Contains(text, []byte(secret)) {
						t.Errorf("%q is in %s:\n%s", secret, path, text)
					}
				}
			}
		})
	}
}

// Hosts that crash in the same way are counted together, over hosts and starts of the supervisor.
func TestCrashesOfOneKindAreCounted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for round := range 2 {
		var groups []supervisor.GroupSpec
		for i := range 3 {
			groups = append(groups, supervisor.Alone(demoHost(fmt.Sprintf("gun%d", i), func(h *supervisor.HostSpec) { h.Env = hostEnv("crasher-native") })))
		}
		keeper := evidence.New(evidence.Options{})
		sup := start(t, supervisor.Spec{Groups: groups, StateDir: dir}, supervisor.WithEvidence(keeper))
		for i := range 3 {
			fire(t, host(t, sup, fmt.Sprintf("gun%d", i)), 1+i, nil)
		}
		var found []evidence.Group
		eventually(t, func() bool {
			list, err := keeper.Summaries("")
			found = evidence.Groups(list)
			return err == nil && len(list) == 3*(1+round)
		}, "reports")
		if len(found) != 1 || found[0].Count != 3*(1+round) || strings.Join(found[0].Hosts, " ") != "gun0 gun1 gun2" || !found[0].First.Before(found[0].Last) {
			t.Errorf("groups %+v", found)
		}
		end(t, sup)
	}
}
