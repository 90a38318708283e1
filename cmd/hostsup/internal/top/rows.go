package top

import (
	"cmp"
	"slices"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// row is a line of the table: a group or a host.
type row struct {
	show.TopRow
	name  string
	group bool
	depth int // 1: below its group
}

// id names the row among all rows.
func (r row) id() string {
	if r.group {
		return "group " + r.name
	}
	return "host " + r.name
}

// rows returns the tree as it is sorted, filtered and folded. Groups are in the order of
// their first hosts. A group that has no other host than one of its own name is only a host.
func (m *model) rows() []row {
	if m.status == nil {
		return nil
	}
	members := map[string][]row{}
	for i := range m.status.Hosts {
		h := &m.status.Hosts[i]
		if !m.matches(h) {
			continue
		}
		s := m.samples[h.Name]
		members[h.Group] = append(members[h.Group], row{TopRow: show.TopRow{Host: *h, Rate: s.rate, CPU: s.percent, P50: s.p50, P99: s.p99}, name: h.Name})
	}
	type branch struct {
		name  string
		hosts []row
	}
	var tree []branch
	for _, g := range groupsOf(m.status) {
		if hosts := members[g]; len(hosts) > 0 {
			slices.SortStableFunc(hosts, m.compare)
			tree = append(tree, branch{g, hosts})
		}
	}
	slices.SortStableFunc(tree, func(a, b branch) int {
		if m.column == "NAME" {
			return m.turn(cmp.Compare(a.name, b.name))
		}
		return m.compare(a.hosts[0], b.hosts[0])
	})
	var out []row
	for _, b := range tree {
		if len(b.hosts) == 1 && b.hosts[0].name == b.name {
			b.hosts[0].Name = "  " + b.name
			out = append(out, b.hosts[0])
			continue
		}
		folded := m.folded[b.name] && m.filter == "" // what is looked for is shown
		out = append(out, total(b.name, b.hosts, folded))
		for _, h := range b.hosts {
			if !folded {
				h.depth, h.Name = 1, "    "+h.name
				out = append(out, h)
			}
		}
	}
	return out
}

// groupsOf returns the names of groups in the order of the status.
func groupsOf(st *supervisor.Status) []string {
	var names []string
	seen := map[string]bool{}
	for _, h := range st.Hosts {
		if !seen[h.Group] {
			seen[h.Group] = true
			names = append(names, h.Group)
		}
	}
	return names
}

// total is the row of a group: the sums of its hosts.
func total(name string, hosts []row, folded bool) row {
	sign := "▾ "
	if folded {
		sign = "▸ "
	}
	sum := record.HostStatus{Name: name, Group: name}
	out := row{TopRow: show.TopRow{Name: sign + name, Hosts: len(hosts)}, name: name, group: true}
	for _, h := range hosts {
		sum.Restarts += h.Host.Restarts
		sum.Pending += h.Host.Pending
		sum.RSSBytes = add(sum.RSSBytes, h.Host.RSSBytes)
		out.Rate, out.CPU = add(out.Rate, h.Rate), add(out.CPU, h.CPU)
		if h.Host.State == lifecycle.Running {
			out.Running++
		}
	}
	out.Host = sum
	return out
}

// add adds figures that may be unknown.
func add[T int64 | float64](a, b *T) *T {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	sum := *a + *b
	return &sum
}

// compare orders two hosts by the column that is sorted by.
func (m *model) compare(a, b row) int {
	x, y := a.Host, b.Host
	c := 0
	switch m.column {
	case "NAME":
		c = cmp.Compare(x.Name, y.Name)
	case "STATE":
		c = cmp.Compare(gravity(x.State), gravity(y.State))
	case "PID":
		c = compareUnknown(x.PID, y.PID)
	case "LIFE":
		c = cmp.Compare(x.Life, y.Life)
	case "RESTARTS":
		c = cmp.Compare(x.Restarts, y.Restarts)
	case "CALLS/S":
		c = compareUnknown(a.Rate, b.Rate)
	case "P50":
		c = compareUnknown(a.P50, b.P50)
	case "P99":
		c = compareUnknown(a.P99, b.P99)
	case "PENDING":
		c = cmp.Compare(x.Pending, y.Pending)
	case "MEM":
		c = compareUnknown(x.RSSBytes, y.RSSBytes)
	case "CPU%":
		c = compareUnknown(a.CPU, b.CPU)
	case "UPTIME":
		c = startedBefore(x, y)
	case "REASON":
		c = compareUnknown(x.Reason, y.Reason)
	}
	return m.turn(c)
}

func (m *model) turn(c int) int {
	if m.descending {
		return -c
	}
	return c
}

// startedBefore orders hosts by the age of their processes, those without one first.
func startedBefore(x, y record.HostStatus) int {
	switch {
	case x.Started == nil || y.Started == nil:
		return cmp.Compare(known(x.Started), known(y.Started))
	default:
		return y.Started.Compare(*x.Started)
	}
}

func known[T any](p *T) int {
	if p == nil {
		return 0
	}
	return 1
}

// compareUnknown orders what is unknown first.
func compareUnknown[T cmp.Ordered](a, b *T) int {
	if a == nil || b == nil {
		return cmp.Compare(known(a), known(b))
	}
	return cmp.Compare(*a, *b)
}

// gravity orders states by how much a person has to look at them, the worst first.
func gravity(st lifecycle.State) int {
	return slices.Index([]lifecycle.State{
		lifecycle.Failed, lifecycle.Crashed, lifecycle.Unresponsive, lifecycle.Restarting, lifecycle.Starting, lifecycle.Stopping,
		lifecycle.Running, lifecycle.Stopped,
	}, st)
}

// current returns the row with the cursor, or nil if the list is empty.
func (m *model) current() *row {
	rows := m.rows()
	if len(rows) == 0 {
		return nil
	}
	return &rows[max(0, slices.IndexFunc(rows, func(r row) bool { return r.id() == m.at0 }))]
}
