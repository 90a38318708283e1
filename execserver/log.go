package execserver

// What is kept of each process for subscribers that come late.
const (
	logEvents = 256
	logBytes  = 1 << 20
)

// eventLog keeps the last events of a process: at most logEvents with at most
// logBytes of output, but always the last one.
type eventLog struct {
	events []Event // those from head on are kept
	head   int
	bytes  int
}

func (l *eventLog) add(e Event) {
	if len(l.events) == cap(l.events) && l.head > 0 {
		// The memory of dropped events is reused before more is allocated.
		n := copy(l.events, l.events[l.head:])
		clear(l.events[n:])
		l.events, l.head = l.events[:n], 0
	}
	l.events = append(l.events, e)
	l.bytes += len(e.Data)
	for n := len(l.events) - l.head; n > logEvents || n > 1 && l.bytes > logBytes; n-- {
		l.bytes -= len(l.events[l.head].Data)
		l.events[l.head] = Event{}
		l.head++
	}
}

// kept returns the events that are kept, oldest first. The caller must not change
// or keep the slice.
func (l *eventLog) kept() []Event { return l.events[l.head:] }
