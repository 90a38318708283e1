package doctor

import (
	"runtime"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
)

// System says what the system is, and what a supervisor lacks there.
func System() show.Check {
	return show.Check{
		Name: "system", Verdict: show.Fault, Detail: runtime.GOOS + "/" + runtime.GOARCH,
		Advice: "hostsup run does not support windows; verbs that talk to a supervisor on another machine by --url work, and validate --elsewhere",
	}
}

// Limits says whether what this user may have is enough for so many hosts.
func Limits(int) []show.Check { return nil }

func writable(string) bool { return true } // only an attempt would tell

func room(string) (free int64, ok bool) { return 0, false }

func writers(string) string { return "" }
