package everyday

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostsup/hostsup/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const list = `# a comment
home mkdir x
reason no-write "Read-only (file|folder)" Nothing is
	written.
reason odd "" It is odd.
= Tools
== make
needs make from make
needs gcc from gcc optional
once mkdir warm
setup echo a
	echo b
run make
tty
account
denied read-only because no-write
differs network,allow-list as root because odd
real workspace-write because odd
== make | again
once as make
run make
`

func TestParse(t *testing.T) {
	s, err := Parse([]byte(list))
	if err != nil {
		t.Fatal(err)
	}
	a, b := s.Groups[0].Things[0], s.Groups[0].Things[1]
	if a.Setup != "echo a\necho b" || a.Once != "mkdir warm" || b.Once != a.Once || !a.TTY || b.TTY || !a.Account || s.Home != "mkdir x" || s.Reasons[0].Why != "Nothing is written." {
		t.Errorf("%+v\n%+v", a, b)
	}
	if diff := cmp.Diff([]Need{{"make", "make", false}, {"gcc", "gcc", true}}, a.Needs); diff != "" {
		t.Error(diff)
	}
	if a.For(Denied, ReadOnly, "user") == nil || a.For(Differs, Network, "root") == nil || a.For(Differs, Network, "user") != nil || a.For(Real, Network, "root") != nil {
		t.Error("exceptions of one level or user are applied to another")
	}
	const table = `2 things at 4 levels: 5 end as without confinement, 1 are denied by the policy, 2 differ.

| Tools | read-only | workspace-write | network | allow-list | codex exec-server 0.169 |
|---|---|---|---|---|---|
| make | denied: no-write | equal | differs as root: odd | differs as root: odd | odd (workspace-write) |
| make \| again | equal | equal | equal | equal | the same |

| What policies deny | |
|---|---|
| no-write | Nothing is written. |

| What ours does otherwise | |
|---|---|
| odd | It is odd. |

| What codex exec-server 0.169 does otherwise than ours | |
|---|---|
| odd | It is odd. |
`
	if diff := cmp.Diff(table, s.Table()); diff != "" {
		t.Errorf("the table (-want +got):\n%s", diff)
	}
}

func TestBadLists(t *testing.T) {
	for _, c := range []struct{ list, says string }{
		{"\tx", "line 1: there is no statement to go on with"},
		{"== a", "in no group"},
		{"run x", "about no thing"},
		{"= g\n== a\nrun x\nrun y", "line 4: \"run\" has to be there once"},
		{"= g\n== a", "line 2: \"a\" does nothing"},
		{"= g\n== a\nrun x\n== a\nrun x", "line 4: \"a\" is there already"},
		{"= g\n== a\nrun x\nwalk y", "no statement \"walk\""},
		{"= g\n== a\nrun x\nneeds make", "expected PROGRAM from PACKAGE"},
		{"= g\n== a\nrun x\nonce as b", "not above"},
		{"= g\n== a\nrun x\ndenied all because it is so", "a reason that is named above"},
		{"reason r \"\" w\n= g\n== a\nrun x\ndenied none because r", "no level \"none\""},
		{"reason r \"\" w\n= g\n== a\nrun x\ndenied all as me because r", "as root or as user"},
		{"reason r \"\" w\n= g\n== a\nrun x\ndenied all because r\ndenied network as user because r", "two exceptions for the same"},
		{"reason r \"\" w\n= g\n== a\nrun x", "reason r is used by nothing"},
		{"reason r \"(\" w", "missing closing )"},
		{"reason r pattern w", "expected a pattern in quotes"},
		{"reason r \"\"", "has no sentence"},
	} {
		if _, err := Parse([]byte(c.list)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v, want %s", c.list, err, c.says)
		}
	}
}
