package denial

import (
	"strings"
	"testing"
	"time"
)

// Records of a real kernel.
const (
	access = `audit(1795276437.647:4): domain=13af4f820 blockers=fs.make_reg path="/tmp/work/001" dev="vda" ino=10525459`
	birth  = `audit(1795276437.647:3): domain=13af4f820 status=allocated mode=enforcing pid=9285 uid=0 exe="/tmp/denial.test" comm="exe"`
	death  = `audit(1795276438.700:9): domain=13af4f820 status=deallocated denials=3`
	killed = `audit(1795276500.100:20): auid=4294967295 uid=0 gid=0 ses=4294967295 subj=kernel pid=777 comm="strace" exe="/usr/bin/strace" sig=0 arch=c000003e syscall=101 compat=0 ip=0x7f code=0x50001`
)

func TestParseRecord(t *testing.T) {
	r, ok := ParseRecord(recordLandlockAccess, access)
	if !ok || r.Domain != "13af4f820" || !r.Time.Equal(time.Unix(1795276437, 647e6)) || len(r.Denials) != 1 {
		t.Fatalf("%+v", r)
	}
	if d := r.Denials[0]; d.Kind != Write || d.Path != "/tmp/work/001" || d.Source != Landlock || d.Detail != "fs.make_reg" || d.Suggest != `write = ["/tmp/work/001"]` || d.Count != 1 || !d.First.Equal(r.Time) {
		t.Errorf("%+v", d)
	}
	if r, ok := ParseRecord(recordLandlockDomain, birth); !ok || r.Pid != 9285 || r.Gone || r.Denials != nil {
		t.Errorf("%+v", r)
	}
	if r, ok := ParseRecord(recordLandlockDomain, death); !ok || !r.Gone || r.Domain != "13af4f820" {
		t.Errorf("%+v", r)
	}
	const at, dom = "audit(1.5:1): ", "domain=1 "
	for text, want := range map[string]string{ // kind path; "" for none
		`blockers=fs.read_file path="/etc/shadow"`:                         "read /etc/shadow",
		`blockers=fs.read_dir path="/root" dev="vda" ino=1`:                "read /root",
		`blockers=fs.execute path="/usr/bin/id"`:                           "exec /usr/bin/id",
		`blockers=fs.write_file path="/proc/1/comm" dev="proc"`:            "write /proc/1/comm",
		`blockers=fs.write_file,fs.truncate path="/a"`:                     "write /a",
		`blockers=fs.refer,fs.make_reg,fs.execute path="/a"`:               "write /a,exec /a",
		`blockers=fs.ioctl_dev path="/dev/kvm"`:                            "device /dev/kvm",
		`blockers=fs.read_file path=2F746D702F612062 dev="x"`:              "read /tmp/a b",
		`blockers=fs.read_file path=2F6162220A dev="x"`:                    "read /ab\"\n",
		`blockers=fs.change_topology name="x"`:                             "syscall mount",
		`blockers=net.connect_tcp daddr=127.0.0.1 dest=80`:                 "connect 127.0.0.1:80",
		`blockers=net.connect_tcp daddr=::1 dest=80`:                       "connect [::1]:80",
		`blockers=net.bind_tcp saddr=127.0.0.1 src=8080`:                   "bind 127.0.0.1:8080",
		`blockers=net.bind_tcp src=8080`:                                   "bind :8080",
		`blockers=scope.abstract_unix_socket path=00666F6F`:                "connect unix @foo",
		`blockers=scope.signal opid=1 ocomm="systemd"`:                     "process 1 systemd",
		`blockers=ptrace opid=77 ocomm=6120620A`:                           "process 77 a b?",
		`blockers=something.new path="/x"`:                                 "",
		`blockers=fs.read_file path="relative"`:                            "",
		`blockers=fs.read_file path=(null)`:                                "",
		`blockers=fs.read_file`:                                            "",
		`blockers=net.connect_tcp daddr=1.2.3.4 dest=x`:                    "",
		`blockers=fs.read_file path="/a" blockers=fs.execute path="/evil"`: "read /a",
	} {
		r, ok := ParseRecord(recordLandlockAccess, at+dom+text)
		var got []string
		for _, d := range r.Denials {
			got = append(got, string(d.Kind)+" "+d.Path)
		}
		if !ok || strings.Join(got, ",") != want {
			t.Errorf("%s: %q %v", text, got, ok)
		}
	}
	for _, text := range []string{
		"", "audit", "audit(): domain=1 blockers=ptrace", "audit(1.5:1):domain=1", "audit(x.5:1): a", "audit(1.5555:1): a", "audit(-1.5:1): a",
		at + "blockers=ptrace", at + "domain=1", at + dom + `blockers="ptrace`,
	} {
		if r, ok := ParseRecord(recordLandlockAccess, text); ok {
			t.Errorf("%q: %+v", text, r)
		}
	}
	for _, text := range []string{at + "domain=1", at + "pid=1", at + "domain=1 status=allocated pid=x"} {
		if r, ok := ParseRecord(recordLandlockDomain, text); ok {
			t.Errorf("%q: %+v", text, r)
		}
	}
	for _, text := range []string{at + "pid=1", at + "syscall=1", at + "pid=1 syscall=-1", at + "pid=0 syscall=1"} {
		if r, ok := ParseRecord(recordSeccomp, text); ok {
			t.Errorf("%q: %+v", text, r)
		}
	}
	if _, ok := ParseRecord(1300, access); ok {
		t.Error("a record of another type")
	}
}

func FuzzRecord(f *testing.F) {
	for _, s := range []string{access, birth, death, killed, `audit(1.2:3): domain=1 blockers=ptrace opid=1 ocomm="x`} {
		f.Add(uint16(recordLandlockAccess), s)
		f.Add(uint16(recordLandlockDomain), s)
		f.Add(uint16(recordSeccomp), s)
	}
	f.Fuzz(func(t *testing.T, kind uint16, s string) {
		r, ok := ParseRecord(kind, s)
		if !ok {
			return
		}
		if r.Domain == "" && r.Pid == 0 {
			t.Fatal("a record without domain and process")
		}
		for _, d := range r.Denials {
			if d.Kind == "" || d.Path == "" || d.Count != 1 || d.First.IsZero() {
				t.Fatalf("%+v", d)
			}
		}
		Suggest(r.Denials)
	})
}
