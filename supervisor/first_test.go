package supervisor_test

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/codec/hostsup"
	"github.com/hostsup/hostsup/extension/demo"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

func TestMain(m *testing.M) {
	if os.Getenv("DEMO") != "" {
		os.Exit(demo.Main(context.Background()))
	}
	os.Exit(m.Run())
}

func TestFirst(t *testing.T) {
	log := hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: os.Stderr})
	sup, err := supervisor.Start(t.Context(), supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(supervisor.HostSpec{
		Name: "demo", Command: []string{os.Args[0]}, Env: map[string]string{"DEMO": "1"}, Protocol: hostsup.New(),
	}), supervisor.Alone(supervisor.HostSpec{Name: "sleeper", Command: []string{"sleep", "1000"}})}}, supervisor.WithLogger(log))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := sup.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	h, _ := sup.Host("demo")
	var out string
	if err := h.Call(ctx, "echo", "hello", &out); err != nil || out != "hello" {
		t.Fatal(out, err)
	}
	begin := time.Now()
	syscall.Kill(*h.Status().PID, 9)
	if err := h.Wait(ctx, lifecycle.Crashed); err != nil {
		t.Fatal(err)
	}
	if err := h.Wait(ctx, lifecycle.Running); err != nil {
		t.Fatal(err)
	}
	t.Log("back after", time.Since(begin))
	if err := h.Call(ctx, "echo", "hello", &out); err != nil || out != "hello" {
		t.Fatal(out, err)
	}
	for e := range sup.Events(ctx, false) {
		to := lifecycle.State("")
		if e.To != nil {
			to = *e.To
		}
		host := ""
		if e.Host != nil {
			host = *e.Host
		}
		t.Log(e.Seq, e.Time.Format("05.000000"), host, e.Kind, to, e.Reason)
	}
	if err := sup.Stop(ctx); err != nil {
		t.Fatal(err)
	}
}
