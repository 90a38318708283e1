package initial

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// secretNames are words in names whose values must be kept secret.
var secretNames = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "KEY", "APIKEY", "PAT", "CREDENTIAL", "CREDENTIALS", "AUTH", "AUTHORIZATION", "BEARER"}

// secretShapes matches the forms by which issuers mark their tokens, and passwords
// within URLs.
var secretShapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`gh[opsur]_[A-Za-z0-9]{16}|github_pat_\w{16}|glpat-[\w-]{16}|\bsk-[\w-]{16}|xox[abeprs]-[\w-]{10}|\bAKIA[0-9A-Z]{16}|\bAIza[\w-]{30}|\bhf_[A-Za-z0-9]{20}|\bnpm_[A-Za-z0-9]{20}|\beyJ[\w-]{10,}\.[\w-]{10,}\.|-----BEGIN [A-Z ]*PRIVATE KEY|://[^/\s:@]*:[^/\s@]+@`)
})

// wordGaps separate the words of a name.
var wordGaps = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9]+`) })

// looksSecret guesses from its name and its form whether a value is a secret. A path
// to a secret is not.
func looksSecret(name, value string) bool {
	if secretShapes().MatchString(value) {
		return true
	}
	if len(value) < 6 || strings.ContainsAny(value[:1], "/~.$") || strings.Contains(value, "${") {
		return false
	}
	return slices.ContainsFunc(wordGaps().Split(strings.ToUpper(name), -1), func(w string) bool {
		return slices.Contains(secretNames, w) || strings.HasSuffix(w, "TOKEN") || strings.HasSuffix(w, "SECRET") || strings.HasSuffix(w, "PASSWORD") || strings.HasSuffix(w, "APIKEY")
	})
}

// secretArgument reports whether a command has an argument that looks like a secret:
// by itself, or because of its option.
func secretArgument(command []string) bool {
	for i, w := range command {
		name, value, joined := strings.Cut(w, "=")
		switch {
		case secretShapes().MatchString(w), joined && looksSecret(name, value):
			return true
		case i > 0 && strings.HasPrefix(command[i-1], "-") && !strings.Contains(command[i-1], "=") && !strings.HasPrefix(w, "-") && looksSecret(command[i-1], w):
			return true
		}
	}
	return false
}
