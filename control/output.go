package control

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// HostLine is a line of a host's output. Its Lost counts the lines of this host that a
// follower has missed just before it.
type HostLine struct {
	Host string `json:"host"`
	capture.Line
}

const (
	// gatherFor is how long lines of several hosts are gathered to be put in the order of
	// time.
	gatherFor = 20 * time.Millisecond
	// gatherLines bounds them.
	gatherLines = 256
	// manyHosts is for how many hosts at once memory holds more lines than without a reader.
	manyHosts = 64
)

// Output yields the last n lines of the output of hosts, by time, and with follow later
// ones, until ctx ends or the supervisor has ended. With a negative n it follows what was
// printed since the supervisor was started, so far as that is in memory. Hosts are all for which wants returns
// true, also those that are added while it follows. Later lines of different hosts come in
// the order of time so far as they were printed within 20 ms. A reader that falls behind
// blocks no host; lines that it missed are counted in the next one of the same host.
//
// Between the hosts and the reader are a goroutine for each host and 256 lines for all;
// what has not been passed on stays where hosts keep their last lines: 4,096 of each of
// the first 64 hosts, and 200 of others, so that 1,000 hosts need little.
func Output(ctx context.Context, sup Supervisor, wants func(host, group string) bool, n int, follow bool) iter.Seq[HostLine] {
	return func(yield func(HostLine) bool) {
		ctx, cancel := context.WithCancel(ctx)
		m := &merger{ctx: ctx, sup: sup, wants: wants, lines: make(chan HostLine), hosts: map[string]Host{}}
		past, last := m.past(n)
		for _, ln := range past {
			if !yield(ln) {
				cancel()
				return
			}
		}
		if !follow {
			cancel()
			return
		}
		m.all.Go(func() { m.watch(last) })
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			m.all.Wait()
			close(m.lines)
		}()
		m.pass(yield)
		cancel()
		for range m.lines { // until its senders have seen the end of ctx
		}
		<-ended
	}
}

// merger follows the output of several hosts.
type merger struct {
	ctx   context.Context
	sup   Supervisor
	wants func(host, group string) bool
	lines chan HostLine
	all   sync.WaitGroup // of the senders to lines

	// Of watch only.
	hosts map[string]Host // that are or were followed
	prune int             // at so many, those that were removed are forgotten
}

// past returns the last n lines of all hosts by time, and the number of the last line of
// each host. Of a host that has printed nothing it is 0.
func (m *merger) past(n int) ([]HostLine, map[string]uint64) {
	var all []HostLine
	last := map[string]uint64{}
	if n < 0 {
		return nil, last
	}
	for host, group := range m.sup.Names() {
		if !m.wants(host, group) {
			continue
		}
		h, err := m.sup.Host(host)
		if err != nil { // it was removed meanwhile
			continue
		}
		lines, _ := h.History(max(n, 1)) // the readable lines are better than none
		if len(lines) > 0 {
			last[host] = lines[len(lines)-1].Seq
		}
		for _, ln := range lines {
			all = append(all, HostLine{host, ln})
		}
		if len(all) > 4*gatherLines+2*n {
			all = newestOf(all, n)
		}
	}
	return newestOf(all, n), last
}

// newestOf returns the last n lines by time.
func newestOf(lines []HostLine, n int) []HostLine {
	slices.SortStableFunc(lines, byTime)
	return slices.Clone(lines[max(0, len(lines)-n):])
}

func byTime(a, b HostLine) int { return a.Time.Compare(b.Time) }

// watch follows the hosts that there are, each from the line after last, and those that
// are added, until ctx or the supervisor ends.
func (m *merger) watch(last map[string]uint64) {
	for host, group := range m.sup.Names() {
		m.join(host, group, last[host])
	}
	for ev := range m.sup.Events(m.ctx, 0, true) {
		switch {
		case ev.Lost > 0: // one of them may have been about another host
			for host, group := range m.sup.Names() {
				m.join(host, group, 0)
			}
		case ev.Host != nil && ev.Group != nil && ev.Kind != record.KindRemoved:
			m.join(*ev.Host, *ev.Group, 0)
		}
	}
}

// join follows a host from the line after seq, unless it is followed already.
func (m *merger) join(name, group string, seq uint64) {
	if !m.wants(name, group) {
		return
	}
	h, err := m.sup.Host(name)
	if err != nil || m.hosts[name] == h {
		return
	}
	if len(m.hosts) >= m.prune {
		maps.DeleteFunc(m.hosts, func(name string, h Host) bool {
			now, err := m.sup.Host(name)
			return err != nil || now != h
		})
		m.prune = 2*len(m.hosts) + 64
	}
	m.hosts[name] = h
	backlog := len(m.hosts) <= manyHosts
	m.all.Go(func() {
		for ln := range h.After(m.ctx, seq, backlog) {
			select {
			case m.lines <- HostLine{name, ln}:
			case <-m.ctx.Done():
				return
			}
		}
	})
}

// pass yields lines until there are no more. Lines that come close together are put in the
// order of time.
func (m *merger) pass(yield func(HostLine) bool) {
	var batch []HostLine
	for {
		ln, more := <-m.lines
		if !more {
			return
		}
		batch = append(batch[:0], ln)
		for late := time.After(gatherFor); more && late != nil && len(batch) < gatherLines; {
			select {
			case ln, more = <-m.lines:
				if more {
					batch = append(batch, ln)
				}
			case <-late:
				late = nil
			}
		}
		slices.SortStableFunc(batch, byTime)
		for _, ln := range batch {
			if !yield(ln) {
				return
			}
		}
		clear(batch)
	}
}

// allLogs sends the output of all hosts, or of those that are named.
func (s *Server) allLogs(in allLogsInput) (source, error) {
	if s.ended() {
		return nil, closed()
	}
	if _, err := s.pick(in.Names); err != nil {
		return nil, err
	}
	return func(ctx context.Context, send func(any) bool) *Error {
		return pass(Output(ctx, s.sup, s.wants(in.Names), in.N, in.Follow), send)
	}, nil
}

// wants returns a function that picks the named hosts, those of the named groups, and
// instances, also those that are added later.
func (s *Server) wants(names []string) func(host, group string) bool {
	return func(host, group string) bool {
		return len(names) == 0 || slices.ContainsFunc(names, func(name string) bool {
			if name == host || name == group {
				return true
			}
			_, instances := s.sup.Instances(name)
			return slices.Contains(instances, host)
		})
	}
}
