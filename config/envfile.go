package config

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"runtime"
	"strings"
	"unicode/utf8"
)

// envFile reads variables from a file. Like a file with a secret it must not be open to
// others; its values are never shown.
func envFile(dst *map[string]string) setting {
	var file string
	return path(&file, func(g given, file string) {
		if g.onFile != nil {
			g.onFile(file)
		}
		if g.elsewhere {
			return
		}
		st, err := os.Stat(file)
		if err == nil && st.Mode().IsRegular() && st.Mode().Perm()&0o007 != 0 && runtime.GOOS != "windows" {
			g.bad("Other users may access %s (mode %#o): chmod o= %s", file, st.Mode().Perm()&fs.ModePerm, file)
			return
		}
		src, why := readRegular(file)
		if why != "" {
			g.bad("%s cannot be read. %s", file, why)
			return
		}
		env, line, why := parseEnv(string(src))
		if why != "" {
			// The text of the line may be a secret.
			g.bad("%s, line %d: %s", file, line, why)
			return
		}
		*dst = env
	})
}

// parseEnv parses lines NAME=VALUE. A value without quotes is taken as it is, with $ and \;
// single quotes also keep spaces at its ends and a #, and in double quotes \n, \r, \t, \", \$
// and \\ are what they are in a shell or in Go. There is no substitution of variables. What
// other readers of such files understand differently is refused: a # after a space, text
// after a quote, a name twice.
//
// NOTE: Libraries for these files either substitute variables, or end a value at any #. Both
// change passwords.
func parseEnv(text string) (env map[string]string, line int, why string) {
	env = map[string]string{}
	for l := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		line++
		l = strings.TrimSpace(l)
		if l == "" || l[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(l, "export "), "=")
		name = strings.TrimSpace(name)
		if !ok {
			return nil, line, "There is no =. Write NAME=VALUE."
		}
		if why := checkEnvName(name); why != "" {
			return nil, line, why
		}
		if _, twice := env[name]; twice {
			return nil, line, fmt.Sprintf("%s has a value already.", name)
		}
		if env[name], why = envValue(strings.TrimSpace(value)); why != "" {
			return nil, line, why
		}
	}
	return env, 0, ""
}

// envValue returns what a value stands for, or why it stands for nothing.
func envValue(text string) (value, why string) {
	if strings.ContainsRune(text, 0) || !utf8.ValidString(text) {
		return "", "The value is not text."
	}
	if text == "" || text[0] != '"' && text[0] != '\'' {
		if i := strings.IndexByte(text, '#'); i == 0 || i > 0 && (text[i-1] == ' ' || text[i-1] == '\t') {
			return "", "A # after a space could begin a comment. Put the value in single quotes, or the comment on a line of its own."
		}
		return text, ""
	}
	quote, rest := text[0], text[1:]
	var b strings.Builder
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == quote:
			if i != len(rest)-1 {
				return "", "There is text after the closing quote."
			}
			return b.String(), ""
		case c == '\\' && quote == '"':
			i++
			if i == len(rest) {
				continue
			}
			switch rest[i] {
			case 'n':
				b.WriteByte('\n')
			case 'r':
				b.WriteByte('\r')
			case 't':
				b.WriteByte('\t')
			case '"', '$', '\\':
				b.WriteByte(rest[i])
			default:
				return "", fmt.Sprintf("There is no \\%c. Write \\\\ for a backslash, or use single quotes.", rest[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", "The quote is not closed on this line."
}

// withEnvFile returns the variables of a host with those of its file that it does not set.
func withEnvFile(env map[string]string, d *hostDecl) map[string]string {
	if len(d.envFile) == 0 {
		return env
	}
	out := maps.Clone(d.envFile)
	maps.DeleteFunc(out, func(name, _ string) bool { return d.spec.Secrets.Env[name] != nil })
	maps.Copy(out, env)
	return out
}
