//go:build !unix

package sys

// Signals have no numbers here; a configuration written for another system
// is still understood, with the numbers of Linux on most processors.
var signals = []string{1: "SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE",
	"SIGKILL", "SIGUSR1", "SIGSEGV", "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM", 17: "SIGCHLD", "SIGCONT",
	"SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGXCPU", "SIGXFSZ", "SIGVTALRM", "SIGPROF",
	"SIGWINCH", "SIGIO", "SIGPWR", "SIGSYS"}

func nameOf(n int) string {
	if n > 0 && n < len(signals) {
		return signals[n]
	}
	return ""
}

func numberOf(s string) int {
	for i, name := range signals {
		if name == s && s != "" {
			return i
		}
	}
	return 0
}
