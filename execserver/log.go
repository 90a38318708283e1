package execserver

// What is kept of each process for subscribers that come late.
const (
	logEvents = 256
	logBytes  = 1 << 20
)

// eventLog keeps the last events of a process: at most logEvents with at most
// logBytes of output, and always the last one.
type eventLog struct {
	events []Event // those from head on are kept
	head   int
	bytes  int
	first  uint64 // number of the oldest that is kept, or of the one to come
}

func (l *eventLog) add(e Event) {
	if l.first == 0 {
		l.first = e.Seq
	}
	if len(l.events) == cap(l.events) && l.head > 0 {
		// Room is made of what was dropped before more is asked for.
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
		if next := l.events[l.head].Seq; next > 0 {
			l.first = next
		}
	}
}

// kept are the events that are kept, oldest first. They are not to be changed
// and not to be held on to.
func (l *eventLog) kept() []Event { return l.events[l.head:] }
