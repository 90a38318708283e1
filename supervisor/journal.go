package supervisor

import (
	"strconv"

	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/internal/journald"
)

// systemJournal is where the output of hosts goes that has Log.Journal set.
type systemJournal struct{ client *journald.Client }

// Sender implements [capture.Journal].
func (j systemJournal) Sender(host string, report func(int, error)) capture.Sender {
	return hostOutput{host, j.client.Sender(report)}
}

// hostOutput sends the output of a host to the journal.
type hostOutput struct {
	host string
	to   *journald.Sender
}

// Send implements [capture.Sender].
func (o hostOutput) Send(ln capture.Line) error {
	priority := journald.Info // priorities as Docker sets them
	switch ln.Stream {
	case capture.Stderr:
		priority = journald.Err
	case capture.Note:
		priority = journald.Notice
	}
	fields := []journald.Field{
		{Name: "SYSLOG_IDENTIFIER", Value: o.host}, {Name: "HOST", Value: o.host},
		{Name: "LIFE", Value: strconv.FormatUint(ln.Life, 10)}, {Name: "STREAM", Value: ln.Stream.String()},
	}
	if ln.More {
		fields = append(fields, journald.Field{Name: "MORE", Value: "1"})
	}
	return o.to.Send(priority, ln.Text, fields...)
}

// Close waits a moment for what waits to be sent.
func (j systemJournal) Close() error { return j.client.Close() }

// WithJournal lets hosts have Log.Journal: their output goes to the journal of systemd that
// listens at socket; "" stands for /run/systemd/journal/socket. Without it such a host is
// refused.
func WithJournal(socket string) Option {
	return func(o *options) { o.journal = systemJournal{journald.New(socket)} }
}

// ReopenLogs opens the log files of all hosts again, for when another program such as
// logrotate has moved them. It does not wait for the disk: a host that is printing
// has its file opened again before its next line.
func (s *Supervisor) ReopenLogs() {
	for _, r := range s.world.Refs() {
		r.ReopenLog()
	}
}
