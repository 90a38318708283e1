//go:build !hostsup_posix && amd64

package denial

import (
	"fmt"
	"testing"
)

func TestParseSeccompRecord(t *testing.T) {
	r, ok := ParseRecord(recordSeccomp, killed)
	if !ok || r.Pid != 777 || len(r.Denials) != 1 {
		t.Fatalf("%+v", r)
	}
	if d := r.Denials[0]; d.Kind != Syscall || d.Path != "ptrace" || d.Source != Seccomp || d.Suggest != `syscalls { allow = ["ptrace"] }` || d.Detail != "strace" {
		t.Errorf("%+v", d)
	}
}

// A watcher from before the records and one from after them get the same denials.
func TestAuditPassesRecordsToTheirWatcher(t *testing.T) {
	a := newAudit()
	take := func(kind uint16, text string) {
		r, ok := ParseRecord(kind, text)
		if !ok {
			t.Fatal(text)
		}
		a.take(r, false)
	}
	var early, late, other []string
	to := func(list *[]string) func(Denial) {
		return func(d Denial) { *list = append(*list, string(d.Kind)+" "+d.Path) }
	}
	is := func(want int) func(int) bool { return func(pid int) bool { return pid == want } }
	stop := a.Watch(is(100), to(&early))
	defer a.Watch(is(300), to(&other))()
	take(recordLandlockAccess, `audit(1.1:1): domain=a blockers=fs.read_file path="/1"`)
	take(recordLandlockAccess, `audit(1.1:2): domain=b blockers=fs.read_file path="/2"`)
	take(recordLandlockDomain, `audit(1.1:2): domain=b status=allocated mode=enforcing pid=200`)
	take(recordLandlockDomain, `audit(1.1:1): domain=a status=allocated mode=enforcing pid=100`)
	take(recordLandlockAccess, `audit(1.1:3): domain=a blockers=fs.execute path="/3"`)
	take(recordLandlockAccess, `audit(1.1:4): domain=b blockers=fs.execute path="/4"`)
	take(recordLandlockDomain, `audit(1.1:5): domain=b status=deallocated denials=2`)
	take(recordSeccomp, `audit(1.1:6): pid=200 comm="x" syscall=101`)
	take(recordSeccomp, `audit(1.1:6): pid=100 comm="x" syscall=101`)
	defer a.Watch(is(200), to(&late))()
	if s := fmt.Sprint(early); s != "[read /1 exec /3 syscall ptrace]" {
		t.Error(s)
	}
	if s := fmt.Sprint(late); s != "[read /2 exec /4 syscall ptrace]" {
		t.Error(s)
	}
	stop()
	take(recordLandlockAccess, `audit(1.1:3): domain=a blockers=fs.execute path="/5"`)
	if len(early) != 3 || other != nil {
		t.Error(early, other)
	}
	// Records without a watcher do not accumulate.
	for i := range 10 * maxDomains {
		take(recordLandlockAccess, fmt.Sprintf(`audit(1.1:3): domain=x%d blockers=fs.execute path="/5"`, i))
		take(recordLandlockAccess, `audit(1.1:3): domain=last blockers=fs.execute path="/5"`)
		take(recordSeccomp, `audit(1.1:6): pid=5 comm="x" syscall=101`)
	}
	if len(a.domains) > maxDomains+2 || len(a.order) > maxDomains || len(a.pendingCalls) > maxHeld {
		t.Error(len(a.domains), len(a.order), len(a.pendingCalls))
	}
	for _, d := range a.domains {
		if len(d.held) > maxHeld {
			t.Error(len(d.held))
		}
	}
	if a.take(Record{}, true); !a.Lost() {
		t.Error("the lost records are not reported")
	}
}
