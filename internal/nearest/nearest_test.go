package nearest

import (
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	verbs := []string{"start", "stop", "status", "restart", "fd", "stdio", "warn"}
	for given, want := range map[string]string{
		"stauts":                   "status", // two letters swapped are nearer than "start"
		"strat":                    "start",
		"STATUS":                   "status",
		"statsu":                   "status",
		"warning":                  "warn",
		"df":                       "fd",
		"ab":                       "",
		"x":                        "",
		"":                         "",
		"nonsense":                 "",
		strings.Repeat("s", 1<<20): "",
	} {
		if got := Name(given, verbs); got != want {
			t.Errorf("Name(%.20q) = %q, want %q", given, got, want)
		}
	}
}
