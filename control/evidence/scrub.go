package evidence

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// label stands in the place of what was taken out.
const label = "[redacted]"

// forms are the texts that are taken out. Where a pattern has a group named keep, it stays.
var forms = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|\z)`),
		regexp.MustCompile(`(?i)(?P<keep>\b(?:proxy-)?authorization(?:\\?["'])?\s*[:=,]\s*(?:\\?["'])?(?:(?:bearer|basic|digest|token|negotiate|apikey)\s+)?)[^\s"'\\,;\]}]+`),
		regexp.MustCompile(`(?i)(?P<keep>\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{16,}`),
		regexp.MustCompile(`(?i)(?P<keep>\b(?:set-)?cookie(?:\\?["'])?\s*[:=]\s*(?:\\?["'])?)[^\r\n"\\]+`),
		// A member, a variable or a parameter with a telling name.
		regexp.MustCompile(`(?i)(?P<keep>"[\w.-]*(?:password|passwd|passphrase|secret|credential|private_?key|api_?key|access_?key|auth_?token|access_?token|refresh_?token|id_?token|session_?token)[\w.-]*"\s*:\s*")(?:[^"\\]|\\.)+`),
		regexp.MustCompile(`(?i)(?P<keep>"token"\s*:\s*")(?:[^"\\]|\\.){8,}`),
		regexp.MustCompile(`(?i)(?P<keep>\b[\w-]*(?:password|passwd|secret|api_?key|access_?key|token)[\w-]*=)[^\s&"'\\;,]{4,}`),
		regexp.MustCompile(`(?P<keep>\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s/:@"'\\]*:)[^\s/@"'\\]+@`),
		// Known tokens.
		regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}`),
		regexp.MustCompile(`\bgl(?:pat|ptt|dt|rt|ft|soat|cbt|agent)-[A-Za-z0-9_.-]{16,}`),
		regexp.MustCompile(`\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b`),
		regexp.MustCompile(`\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-[A-Za-z0-9-]{10,}`),
		regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{30,}|\bya29\.[A-Za-z0-9_-]{16,}`),
		regexp.MustCompile(`\bsk-(?:[a-z]+-)*[A-Za-z0-9_-]{20,}`),
		regexp.MustCompile(`\b[srp]k_(?:live|test)_[A-Za-z0-9]{10,}|\bwhsec_[A-Za-z0-9]{16,}`),
		regexp.MustCompile(`\bnpm_[A-Za-z0-9]{30,}|\bpypi-[A-Za-z0-9_-]{40,}|\bdckr_pat_[A-Za-z0-9_-]{20,}`),
		regexp.MustCompile(`\bhf_[A-Za-z0-9]{30,}|\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|\bAGE-SECRET-KEY-1[A-Z0-9]+`),
		regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`), // a JSON Web Token
	}
})

var replacements = sync.OnceValue(func() []string {
	out := make([]string, len(forms()))
	for i, f := range forms() {
		out[i] = label
		if f.SubexpIndex("keep") > 0 {
			out[i] = "${keep}" + label
		}
		if strings.HasSuffix(f.String(), "@") {
			out[i] += "@"
		}
	}
	return out
})

// hints are what a text must contain for any of the forms to match; most texts have none of them,
// which is found out much faster.
var hints = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)private key|auth|bearer|basic|cookie|pass|secret|credential|key|token|://|gh[pousr]_|github_pat|gl[a-z]+-|AKIA|ASIA|ABIA|ACCA|xox|xapp|AIza|ya29|sk-|k_live|k_test|npm_|pypi-|dckr_|hf_|SG\.|eyJ`)
})

// Scrub returns a text without tokens, passwords and Authorization headers that can be told by
// their form or by the name before them. A text that is JSON stays JSON.
func Scrub(text string) string {
	if !hints().MatchString(text) {
		return text
	}
	out := scrub(text)
	if out != text && !json.Valid([]byte(out)) && json.Valid([]byte(text)) {
		return scrubDocument(text)
	}
	return out
}

func scrub(text string) string {
	for i, f := range forms() {
		text = f.ReplaceAllString(text, replacements()[i])
	}
	return text
}

// scrubDocument scrubs each text of a JSON document by itself. It is for a document in which
// a form begins within an escape: the n of \npm_… is a line break, not the first letter of a token.
func scrubDocument(text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var doc any
	if d.Decode(&doc) != nil {
		return label
	}
	out, err := json.Marshal(scrubValue(doc))
	if err != nil {
		return label
	}
	return string(out)
}

func scrubValue(v any) any {
	switch v := v.(type) {
	case string:
		return scrub(v)
	case []any:
		for i := range v {
			v[i] = scrubValue(v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, value := range v {
			if _, text := value.(string); text && secretName().MatchString(name) {
				value = label
			}
			out[scrub(name)] = scrubValue(value)
		}
		return out
	}
	return v
}

// secretName matches names of variables whose values are secret.
var secretName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)token|secret|passw|passphrase|credential|api_?key|private_?key|access_?key|(^|_)(auth|key|pat|pwd)($|_)`)
})

// minSecret is the length from which the value of a variable is taken out. Shorter ones, such as
// true and 1, would take out much else.
const minSecret = 8

// secretValues returns the values of variables whose names tell that they are secret, longest first.
func secretValues(env map[string]string) (values []string) {
	for name, v := range env {
		if len(v) >= minSecret && secretName().MatchString(name) && !strings.HasPrefix(v, "/") { // the path of a file that has a secret is no secret
			values = append(values, v)
		}
	}
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(values)
}
