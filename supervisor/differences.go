package supervisor

import (
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/hostsup/hostsup/lifecycle/hostspec"
)

// same compares values that hold no functions.
func same(a, b any) bool { return reflect.DeepEqual(a, b) }

// differences returns the settings in which two specs of a host differ, as a configuration
// names them ("env", "restart.window"), in the order of the fields of HostSpec. It is empty
// if and only if the specs are [HostSpec.Equal].
func differences(s, other HostSpec) []string {
	var out []string
	add := func(name string) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	a, b := s.WithDefaults(), other.WithDefaults()
	if !hostspec.EqualProtocols(a.Protocol, b.Protocol) {
		add("protocol")
	}
	if (a.Prepare == nil) != (b.Prepare == nil) {
		add("prepare")
	}
	if (a.Healthy == nil) != (b.Healthy == nil) {
		add("healthy")
	}
	for _, name := range differingFeatures(a.Features, b.Features) {
		add(name)
	}
	if !sameHandlers(a, b) {
		add("handlers")
	}
	a, b = a.comparable(), b.comparable()
	fieldsThatDiffer(reflect.ValueOf(a), reflect.ValueOf(b), "", add)
	return out
}

// fieldsThatDiffer calls add with the name of each setting below a and b that differs.
func fieldsThatDiffer(a, b reflect.Value, path string, add func(string)) {
	for i := range a.NumField() {
		f := a.Type().Field(i)
		x, y := a.Field(i), b.Field(i)
		if f.Type.Kind() == reflect.Func || same(x.Interface(), y.Interface()) {
			continue
		}
		name, known := settingNames[path+f.Name]
		if !known {
			name = settingName(path) + snake(f.Name)
		}
		switch {
		case name == "": // its fields have names of their own
			fieldsThatDiffer(x, y, path+f.Name+".", add)
		case f.Type.Kind() == reflect.Struct:
			fieldsThatDiffer(x, y, path+f.Name+".", add)
		case f.Name == "Sandbox" && !x.IsNil() && !y.IsNil():
			fieldsThatDiffer(x.Elem(), y.Elem(), path+f.Name+".", add)
		default:
			add(name)
		}
	}
}

// settingName returns the name of the block that has the fields of a path, with a dot.
func settingName(path string) string {
	if path == "" {
		return ""
	}
	path = strings.TrimSuffix(path, ".")
	if name, ok := settingNames[path]; ok {
		if name != "" {
			name += "."
		}
		return name
	}
	block, field := "", path
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		block, field = settingName(path[:i+1]), path[i+1:]
	}
	return block + snake(field) + "."
}

// settingNames are the names of settings that do not follow from those of fields. A block
// whose fields are settings of the host itself has none.
var settingNames = map[string]string{
	"Name":               "name",
	"Job":                "kind",
	"InstanceOf":         "instances",
	"Limits":             "messages",
	"Limits.Frame":       "messages.max_size",
	"Limits.Depth":       "messages.max_depth",
	"Limits.Elements":    "messages.max_elements",
	"Limits.String":      "messages.max_string",
	"Start.Lazy":         "start.eager",
	"Start.WhenHealthy":  "healthy",
	"Restart.Success":    "restart.success_exit",
	"Liveness":           "unresponsive",
	"Liveness.NeverKill": "unresponsive.kill_after",
	"Answers":            "",
	"Answers.Replies":    "reply",
	"Answers.Forwards":   "forward",
	"Guard":              "",
	"Guard.Permissions":  "permissions",
	"Guard.RateLimit":    "rate_limit",
	"Guard.Roots":        "workspace_roots",
	"Guard.SHA256":       "verify.sha256",
	"Secrets":            "",
	"Secrets.Env":        "env",
	"Secrets.Owned":      "secrets",
	"Log.JSON":           "log.format",
	"Observe":            "sandbox.observe",
	"Resources":          "limits",
	"Sandbox.JIT":        "sandbox.jit",
	"Resources.CPU":      "limits.cpu",
}

// snake returns the name of a Go field as a configuration writes it.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
