package supervisor_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/intercept/hook"
	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// told reads what hooks have written to the file "told" in a folder.
func told(t *testing.T, dir string) string {
	t.Helper()
	b, err := os.ReadFile(dir + "/told")
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(b)
}

func hooked(dir string, command, pre, post string) supervisor.HostSpec {
	h := supervisor.HostSpec{Name: "h", Dir: dir, Env: map[string]string{"NAME": "ada"}, Command: []string{"sh", "-c", command}}
	if pre != "" {
		h.Features = append(h.Features, hook.PreStart{Command: []string{"sh", "-c", pre}})
	}
	if post != "" {
		h.Features = append(h.Features, hook.PostStop{Command: []string{"sh", "-c", post}})
	}
	return h
}

// Each life has one pre_start and one post_stop, in order, with the host's environment
// and the end of the life; also after a crash, and before a stop is done.
func TestHooksAroundEachLife(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, sup := ruled(t, hooked(dir, `echo run >> told; test -e crashed || { touch crashed; exit 3; }; exec sleep 1000`,
		`echo hello; echo pre $HOSTSUP_LIFE $NAME >> told`, `sleep 0.2; echo post $HOSTSUP_LIFE $HOSTSUP_EXIT_CODE$HOSTSUP_EXIT_SIGNAL $HOSTSUP_REASON >> told`))
	h := hostOf(t, sup, "h")
	poll.Until(t, patience, "the second life", func() bool { return strings.Count(told(t, dir), "run") == 2 })
	if err := h.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	want := "pre 1 ada\nrun\npost 1 3 exit 3\npre 2 ada\nrun\npost 2 SIGTERM killed by SIGTERM\n"
	if got := told(t, dir); got != want {
		t.Errorf("%q, expected %q", got, want)
	}
	var notes []string
	for _, l := range h.Tail(100) {
		notes = append(notes, l.Text)
	}
	if got := strings.Join(notes, "\n"); strings.Count(got, "pre_start: hello") != 2 {
		t.Error(got)
	}
}

// A pre_start that fails is a failed start, and its last line says why.
func TestPreStartThatFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	spec := hooked(dir, `echo run >> told`, `echo no such disk; exit 3`, `echo post >> told`)
	spec.Restart = lifecycle.RestartRule{MaxCrashes: 2}
	ctx, sup := ruled(t, spec)
	if reason := waits(ctx, t, hostOf(t, sup, "h"), lifecycle.Failed); !strings.Contains(reason, "pre_start: exit 3: no such disk") {
		t.Error(reason)
	}
	poll.Until(t, patience, "both hooks", func() bool { return told(t, dir) == "post\npost\n" })
}

// A hook over its time-out is killed; one that runs when the host is stopped, too, and
// the stop waits for the end of it.
func TestHooksAreKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pre := "sleep " + unlike(2)
	spec := hooked(dir, `echo run >> told`, `exec `+pre, `echo post >> told; sleep 1000`)
	spec.Features[1] = hook.PostStop{Command: spec.Features[1].(hook.PostStop).Command, Timeout: 3 * time.Second}
	ctx, sup := ruled(t, spec)
	h := hostOf(t, sup, "h")
	poll.Until(t, patience, "pre_start", func() bool { return runs(t, pre) })
	if err := h.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if runs(t, pre) {
		t.Error("pre_start has outlived the stop")
	}
	if got := told(t, dir); got != "post\n" {
		t.Errorf("%q", got)
	}
}

// The end of the tree waits for post_stop.
func TestPostStopAtTheEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sup, err := supervisor.Start(context.Background(), supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(hooked(dir, `exec /bin/sleep 1000`, "", `/bin/sleep 0.3; echo post >> told`))}})
	if err != nil {
		t.Fatal(err)
	}
	h := hostOf(t, sup, "h")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	waits(ctx, t, h, lifecycle.Running)
	if err := sup.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if got := told(t, dir); got != "post\n" {
		t.Errorf("%q", got)
	}
}
