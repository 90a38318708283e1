package persistent

import "time"

// Due returns when Tick is to be called next. It can become earlier with each
// Pull and Receive.
func (m *Machine) Due() time.Time {
	due := m.aliveAt.Add(KeepAliveEvery)
	if !m.untold.IsZero() {
		due = earlier(due, m.untold.Add(AckAfter))
	}
	if !m.lookAt.IsZero() {
		due = earlier(due, m.lookAt)
	}
	return due
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Tick does what has become due: it queues an ack or a keep-alive, which Pull
// returns, and says whether the socket has timed out. Calls that come early do
// no harm.
func (m *Machine) Tick(now time.Time) Effect {
	if !m.attached {
		m.aliveAt, m.untold = now, time.Time{} // the next socket begins with an ack
		return None
	}
	if now.Sub(m.aliveAt) >= KeepAliveEvery {
		m.aliveAt, m.alive = now, true
	}
	if !m.untold.IsZero() && now.Sub(m.untold) >= AckAfter {
		m.untold, m.ack = now, true // in case that writing is paused, else Pull clears it
	}
	if m.lookAt.IsZero() || now.Before(m.lookAt) {
		return None
	}
	m.looks.add(now)
	m.lookAt = now.Add(time.Second)
	wait := m.patience(now)
	switch {
	case wait > 0:
		m.lookAt = now.Add(min(time.Second, max(wait, LookAgain)))
		return None
	case m.looks.high(now):
		return None // this side may just not have come to hear it
	}
	m.timeout = now
	return TimedOut
}

// patience is how long the socket may still be silent before it counts as dead.
func (m *Machine) patience(now time.Time) time.Duration {
	if m.written == 0 || m.silent.IsZero() {
		return TimeoutAfter
	}
	oldest := m.kept[0].at
	for _, since := range []time.Time{m.silent, m.timeout} {
		if since.After(oldest) {
			oldest = since
		}
	}
	return oldest.Add(TimeoutAfter).Sub(now)
}

// looks are the times of the last ten looks, which are due once a second while
// something is unacknowledged.
type looks struct {
	at   [10]time.Time
	next int
}

func (l *looks) begin(now time.Time) {
	for i := range l.at {
		l.at[i] = now.Add(-time.Duration(len(l.at)-1-i) * time.Second)
	}
	l.next = 0
}

func (l *looks) add(now time.Time) {
	l.at[l.next] = now
	l.next = (l.next + 1) % len(l.at)
}

// high says whether this side is so busy that its own looks come late.
func (l *looks) high(now time.Time) bool {
	recent := 0
	for _, t := range l.at {
		if now.Sub(t) <= time.Duration(len(l.at)+1)*time.Second {
			recent++
		}
	}
	return recent <= len(l.at)/2
}
