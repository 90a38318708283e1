package integration

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/supervisor"
)

// Two agents that are started at the same time share one server of one supervisor, which none of
// them has started by hand. When that is killed they share another one, and when both have left
// it ends by itself.
func TestAttachSharedIsOneServer(t *testing.T) {
	t.Parallel()
	const program = "mcp-server-everything"
	dir := place(t, os.Getuid())
	client := control.NewClient(dir + "/hostsup-shared.sock")
	t.Cleanup(client.Close)
	var agents [2]*attached
	var cmds [2]*exec.Cmd
	var opened [2]chan codec.Message
	for i := range agents {
		agents[i], cmds[i] = attachAlone(t, jsonrpc.Lines(jsonrpc.Options{}), dir, "--shared", "--idle", "2s", "--", npm(t, program), "stdio")
		_, opened[i] = agents[i].begin("initialize", dict{"protocolVersion": "2025-06-18", "capabilities": dict{}, "clientInfo": dict{"name": "agent", "version": "1"}})
	}
	for i, a := range agents {
		if _, err := a.wait(opened[i]); err != nil {
			t.Fatal(err)
		}
		a.tell("notifications/initialized", nil)
	}
	echo := dict{"name": "echo", "arguments": dict{"message": "hello"}}
	one := func() *supervisor.Status {
		t.Helper()
		for _, a := range agents {
			if out := a.must("tools/call", echo); !strings.Contains(out, "hello") {
				t.Fatal(out)
			}
		}
		st, err := client.Status(ctx(t))
		if err != nil || len(st.Hosts) != 1 || !strings.HasPrefix(st.Hosts[0].Name, program+"-") {
			t.Fatalf("%+v, %v", st, err)
		}
		return st
	}
	first := one()
	_, open := agents[0].begin("tools/call", dict{"name": "trigger-long-running-operation", "arguments": dict{"duration": 600, "steps": 600}})
	one()
	if err := syscall.Kill(first.Supervisor.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if out, err := agents[0].wait(open); err == nil {
		t.Errorf("the open call: %s", out)
	}
	for _, a := range agents {
		a.until("list of tools", noted("notifications/tools/list_changed"))
	}
	if second := one(); second.Supervisor.PID == first.Supervisor.PID {
		t.Error("the supervisor that was killed is still there")
	}
	for i, a := range agents {
		if err := a.rw.Close(); err != nil {
			t.Error(err)
		}
		<-a.read
		if i == 1 { // the other may have been the parent of the supervisor
			eventually(t, func() bool {
				_, err := client.Status(ctx(t))
				return err != nil && control.ClassOf(err) == control.NoSupervisor
			}, "the supervisor does not end without programs")
		}
		if err := cmds[i].Wait(); err != nil {
			t.Error(err)
		}
	}
}
