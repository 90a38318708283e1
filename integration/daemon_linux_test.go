package integration

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// daemon is the shipped program with a file that tests change.
type daemon struct {
	t        testing.TB
	dir      string
	mark     string // in the environment of every process of its hosts
	settings string // more of the block supervisor
	cmd      *exec.Cmd
	client   *control.Client
}

// daemonOf writes a file and makes a daemon of it, which is started by run. Text in the
// file says MARK where an entry of env with the mark goes.
func daemonOf(t testing.TB, text string) *daemon {
	t.Helper()
	d := &daemon{t: t, dir: place(t, os.Getuid())}
	d.mark = filepath.Base(d.dir)
	d.write("config.hcl", text)
	d.client = control.NewClient(d.dir + "/control")
	t.Cleanup(d.client.Close)
	return d
}

// write writes a file in the way of editors: nobody sees half of it.
func (d *daemon) write(name, text string) string {
	d.t.Helper()
	path := filepath.Join(d.dir, name)
	text = strings.ReplaceAll(text, "MARK", fmt.Sprintf("TREE = %q", d.mark))
	if name == "config.hcl" {
		text = fmt.Sprintf("supervisor {\n  socket = %q\n  state_dir = %q\n%s}\n", d.dir+"/control", d.dir+"/state", d.settings) + text
	}
	if err := errors.Join(os.WriteFile(path+"~", []byte(text), 0o600), os.Rename(path+"~", path)); err != nil {
		d.t.Fatal(err)
	}
	return path
}

// processes lists those of its hosts, however deep.
func (d *daemon) processes() []int { return having("TREE=" + d.mark) }

// run starts the program, and waits until its hosts have had their first try.
func (d *daemon) run() {
	d.t.Helper()
	cmd := exec.Command(hostsupBinary(d.t), "run", "-c", d.dir+"/config.hcl")
	cmd.Stderr = logWriter{d.t}
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.cmd = cmd
	d.t.Cleanup(func() { // of a test that failed
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	eventually(d.t, func() bool {
		if state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid)); err != nil || strings.Contains(string(state), ") Z ") {
			d.t.Fatalf("the supervisor has ended, %v", err)
		}
		_, err := d.client.Status(ctx(d.t))
		return err == nil
	}, "the socket of the supervisor")
	d.happens(func(e supervisor.Event) bool { return e.Kind == record.KindSupervisor && e.Reason == "ready" })
}

// happens waits for an event, of the past as well.
func (d *daemon) happens(is func(supervisor.Event) bool) {
	d.t.Helper()
	for e, err := range d.client.Events(ctx(d.t), true) {
		if err != nil {
			d.t.Fatal(err)
		}
		if is(e) {
			return
		}
	}
	d.t.Fatal("the supervisor has ended")
}

// end sends a signal to the program, waits for its end, and returns its exit code.
func (d *daemon) end(sig os.Signal) int {
	d.t.Helper()
	if err := d.cmd.Process.Signal(sig); err != nil {
		d.t.Error(err)
	}
	_ = d.cmd.Wait() // the code is looked at
	return d.cmd.ProcessState.ExitCode()
}

func (d *daemon) hosts() map[string]record.HostStatus {
	d.t.Helper()
	st, err := d.client.Status(ctx(d.t))
	if err != nil {
		d.t.Fatal(err)
	}
	out := map[string]record.HostStatus{}
	for _, h := range st.Hosts {
		out[h.Name] = h
	}
	return out
}

// holds waits until the file is what runs, and all hosts run.
func (d *daemon) holds(hosts ...string) {
	d.t.Helper()
	plan, err := d.client.Plan(ctx(d.t), "", nil)
	if err != nil || plan.Plan.Changes() {
		d.t.Errorf("there is something left to do: %+v, %v", plan, err)
	}
	for _, h := range hosts {
		if _, err := d.client.Wait(ctx(d.t), h, 0, lifecycle.Running); err != nil {
			d.t.Error(err)
		}
	}
	if got := d.hosts(); len(got) != len(hosts) {
		d.t.Errorf("%d hosts, expected %q", len(got), hosts)
	}
}
