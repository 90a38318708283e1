package actors

import (
	"encoding/json"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// Aftermath is the actor of what a life leaves behind: it reads the pipes to
// their end, files the crash report with the last words, and gives back what
// was kept for the process tree. It works beside the start of the next life
// and ends by itself.
type Aftermath struct {
	log     hclog.Logger
	world   *World
	ref     *Ref
	failure *Failure
	report  *record.CrashReport // nil: not a crash
	done    bool

	before, heard chan struct{} // closed when nothing is left to be heard of the life before, of this one; nil: no life was before

	pid        int // of the process; 0: there was none
	uptime     time.Duration
	extensions json.RawMessage
}

// beginAftermath sets an Aftermath to work.
type beginAftermath struct{}

// Receive implements actor.Actor.
func (a *Aftermath) Receive(ctx actor.Context) {
	switch ctx.Message().(type) {
	case *beginAftermath:
		a.work()
		ctx.Stop(ctx.Self())
	case *actor.Stopping:
		a.work() // the tree is torn down before the message came
	}
}

// work blocks for [lifecycle.OutputWait] at most, and until the work of the life before is done, too.
// Only the next Aftermath and a stop of the whole tree wait for it.
func (a *Aftermath) work() {
	if a.done {
		return
	}
	a.done = true
	defer a.over()
	late := make(chan struct{})
	defer a.world.env().AfterFunc(lifecycle.OutputWait, func() { close(late) }).Stop()
	for _, c := range a.failure.caps {
		select {
		case <-c.Done():
		case <-late:
			c.Stop()
			<-c.Done()
		}
	}
	if a.failure.child != nil {
		a.failure.child.Release()
	}
	if a.report == nil {
		return
	}
	if a.failure.child != nil {
		a.report.Denials = record.Denials(a.world.redactor(), a.failure.child.Denials())
	}
	a.report.Lines = []record.ReportLine{}
	for _, l := range a.ref.log.TailOfLife(a.failure.Life, reportLines) {
		a.report.Lines = append(a.report.Lines, record.ReportLine{Time: l.Time, Stream: l.Stream.String(), Text: l.Text})
	}
	if err := a.world.Reports.Add(a.report.ID, a.report.Time, a.report.Host, *a.report); err != nil {
		a.log.Error("crash report was not kept", "crash", a.report.ID, "error", err)
	}
}

// over tells interceptors that nothing is left to be heard of the life, nor of those before.
func (a *Aftermath) over() {
	if a.before != nil {
		<-a.before
	}
	a.ref.over(a.failure.Life)
	close(a.heard)
}

// reportLines is how many lines of output a crash report keeps.
const reportLines = 200
