package capture

import (
	"errors"
	"time"
)

// Journal takes lines in the place of files, as the journal of the system does.
type Journal interface {
	// Sender returns what takes the lines of a host. report is called for each line that
	// it has taken, with how many bytes that was, and why it was lost, or nil; not by Send
	// itself.
	Sender(host string, report func(bytes int, err error)) Sender
}

// Sender takes the lines of one host.
type Sender interface {
	// Send must not block. With an error the line is lost.
	Send(ln Line) error
}

// Lines that a [Journal] loses are reported at most once in journalEvery, and the series has
// ended when none was lost for journalCalm.
const (
	journalCalm  = 5 * time.Second
	journalEvery = time.Minute
)

var errNoJournal = errors.New("there is no journal that takes lines")

// losses is a series of lines that a Journal has lost.
type losses struct {
	lines    uint64
	last     time.Time
	reported time.Time // when the beginning of a series was reported last
	told     bool      // the beginning of this one was
}

// send hands a line to the Journal. It returns what to tell when no lock is held. The caller
// must hold wmu.
func (l *Log) send(text []byte, more bool, s Stream, life uint64, now time.Time) (recovered uint64, failed error) {
	if l.sender == nil && l.opt.Journal != nil {
		l.sender = l.opt.Journal.Sender(l.opt.Name, func(n int, err error) { l.tell(l.sent(n, err)) })
	}
	err := errNoJournal
	if l.sender != nil {
		err = l.sender.Send(Line{Time: now.UTC().Truncate(time.Microsecond), Life: life, Stream: s, Text: string(text), More: more})
	}
	if err == nil {
		return 0, nil
	}
	return l.sent(len(text), err)
}

// sent counts a line of so many bytes that the Journal has taken, or lost. It returns what
// to tell.
func (l *Log) sent(bytes int, err error) (recovered uint64, failed error) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.losses
	if err == nil {
		l.stats.Lines++
		l.stats.Bytes += uint64(bytes)
		if s.lines > 0 && now.Sub(s.last) >= journalCalm {
			if l.stats.Err = nil; s.told {
				recovered = s.lines
			}
			s.lines, s.told = 0, false
		}
		return recovered, nil
	}
	l.stats.LostLines++
	l.stats.LostBytes += uint64(bytes)
	l.stats.Err = err
	s.lines++
	s.last = now
	if !s.told && (s.reported.IsZero() || now.Sub(s.reported) >= journalEvery) {
		s.told, s.reported = true, now
		return 0, errors.Join(errors.New("captured output is lost"), err)
	}
	return 0, nil
}
