package evidence

import (
	"context"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/supervisor"
)

// BenchmarkRecord is what a call with 100 bytes of parameters and its answer cost the recorder.
func BenchmarkRecord(b *testing.B) {
	spec := supervisor.HostSpec{Name: "idle", Command: []string{"/bin/true"}, Protocol: native.New()}
	spec.Start.Lazy = true
	keeper := New(Options{})
	sup, err := supervisor.Start(context.Background(), supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(spec)}}, supervisor.WithEvidence(keeper))
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := sup.Stop(context.Background()); err != nil {
			b.Error(err)
		}
	}()
	r := keeper.hosts["idle"]
	call := codec.Message{Kind: codec.Request, Method: "textDocument/hover", Params: make(codec.Raw, 100)}
	b.ReportAllocs()
	for b.Loop() {
		call.ID++
		r.add(1, &call, true)
		r.add(1, &codec.Message{Kind: codec.Response, ID: call.ID}, false)
	}
}
