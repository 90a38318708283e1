package signame

import "testing"

func TestOf(t *testing.T) {
	for n, name := range map[int]string{1: "SIGHUP", 2: "SIGINT", 9: "SIGKILL", 11: "SIGSEGV", 15: "SIGTERM"} {
		if got := Of(n); got != name {
			t.Errorf("%d is %s", n, got)
		}
		for _, s := range []string{name, name[3:], "sig" + name[3:]} {
			if got := Number(s); got != n {
				t.Errorf("%s is %d", s, got)
			}
		}
	}
	for _, n := range []int{-1, 0, 200} {
		if got := Of(n); len(got) < 8 || got[:7] != "signal " {
			t.Errorf("%d is %s", n, got)
		}
	}
	for _, s := range []string{"", "SIG", "SIGNOT", "9"} {
		if got := Number(s); got != 0 {
			t.Errorf("%q is %d", s, got)
		}
	}
}
