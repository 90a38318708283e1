package integration

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/supervisor"
)

// heldByChild is the memory in bytes that a child of family holds: a line that tail reads
// until its end.
const heldByChild = 64 << 20

// family is a host without a protocol, of a shell whose first child has used a processor and
// ended, whose second one holds memory, and whose third one waits.
func family(name string) supervisor.HostSpec {
	return supervisor.HostSpec{Name: name, Command: []string{"/bin/sh", "-c",
		`(i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; read -r s </proc/self/stat; set -- $s; echo used $((${14} + ${15})))
		(head -c ` + strconv.Itoa(heldByChild) + ` /dev/zero; sleep 1000) | tail &
		sleep 1000 & echo "child $!"; wait`}, Env: map[string]string{"PATH": "/usr/bin:/bin"}}
}

// What status says of a host is true of its whole tree, and its pid is one that kill takes.
func TestFiguresAreOfTheTree(t *testing.T) {
	t.Parallel()
	everyKill(t, func(t *testing.T, kill sandbox.Kill) {
		before := time.Now()
		_, h := alone(t, family("f"), supervisor.WithKill(kill))
		printed := func(prefix string) (n int) {
			t.Helper()
			eventually(t, func() bool {
				for _, l := range h.Tail(10) {
					if text, ok := strings.CutPrefix(l.Text, prefix); ok {
						n, _ = strconv.Atoi(text)
						return true
					}
				}
				return false
			}, prefix)
			return n
		}
		used := float64(printed("used ")) / 100
		printed("child ")
		eventually(t, func() bool {
			s := h.Status()
			own, err := sys.ReadStat(*s.PID)
			return err == nil && s.CPUSeconds != nil && *s.CPUSeconds >= used && *s.RSSBytes > own.RSS+heldByChild
		}, "figures of the tree")
		s := h.Status()
		if *s.RSSBytes > 3*heldByChild {
			t.Errorf("%d bytes, of which a child holds %d", *s.RSSBytes, heldByChild)
		}
		if s.Started.Before(before) || s.Started.After(time.Now()) || *s.PID == os.Getpid() {
			t.Errorf("%+v", s)
		}
		if err := syscall.Kill(*s.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		runs(t, h, 2)
		again := h.Status()
		if again.Restarts != 1 || *again.PID == *s.PID || !again.Started.After(*s.Started) || *again.LastExit.Signal != "SIGKILL" {
			t.Errorf("%+v", again)
		}
		if err := h.Stop(ctx(t)); err != nil {
			t.Fatal(err)
		}
		if s := h.Status(); s.PID != nil || s.Started != nil || s.RSSBytes != nil || s.CPUSeconds != nil {
			t.Errorf("a stopped host has %+v", s)
		}
	})
}

// A status while hosts die is whole: what is gone has no figures.
func TestStatusWhileHostsDie(t *testing.T) {
	t.Parallel()
	var hosts []supervisor.HostSpec
	for i := range 10 {
		h := sleeper(fmt.Sprintf("h%d", i), crashes(1000))
		h.Command, h.Restart.Policy = []string{"/bin/sh", "-c", "exit 0"}, lifecycle.Always
		hosts = append(hosts, h)
	}
	sup := start(t, supervisor.Spec{Groups: []supervisor.GroupSpec{{Name: "g", Hosts: hosts}}})
	for range 200 {
		if st := sup.Status(); len(st.Hosts) != 10 {
			t.Fatalf("%d hosts", len(st.Hosts))
		}
	}
}

// BenchmarkStatus reads the status with the figures of 1,000 hosts.
func BenchmarkStatus(b *testing.B) {
	const n = 1000
	for _, kill := range []sandbox.Kill{sandbox.KillCgroup, sandbox.KillPidns, sandbox.KillKeeper} {
		b.Run(string(kill), func(b *testing.B) {
			spec := supervisor.Spec{}
			for i := range n {
				spec.Groups = append(spec.Groups, supervisor.Alone(supervisor.HostSpec{Name: fmt.Sprintf("h%d", i), Command: []string{"/bin/sleep", "1000"}}))
			}
			sup, err := supervisor.Start(b.Context(), spec, supervisor.WithKill(kill))
			if err != nil {
				b.Skip(err)
			}
			defer end(b, sup)
			if err := sup.Ready(ctx(b)); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				for _, h := range sup.Status().Hosts {
					if h.RSSBytes == nil || *h.RSSBytes == 0 {
						b.Fatalf("%+v", h)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/n, "us/host")
		})
	}
}
