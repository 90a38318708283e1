package initial

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/lists"
	"github.com/hostsup/hostsup/internal/hcltext"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// Render writes the file with these hosts for the folder base. Programs below base
// are named by their path from there.
func Render(hosts []Host, base string) []byte {
	w := &writer{base: base}
	w.header(hosts)
	for _, h := range hosts {
		w.host(h)
	}
	return []byte(w.String())
}

type writer struct {
	hcltext.Writer
	base string
}

func (w *writer) header(hosts []Host) {
	w.note("Made by `hostsup init`. `hostsup validate` checks it, `hostsup run` runs it,")
	w.note("`hostsup status` shows its hosts.")
	i := slices.IndexFunc(hosts, func(h Host) bool { return h.Kind != Neovim })
	if i < 0 {
		return
	}
	w.note("")
	w.note("In the settings of an editor or an agent, put in place of a server's command")
	w.note("and arguments:")
	w.note("")
	w.note("    hostsup attach " + hosts[i].Name)
	w.note("")
	w.note("The server is then started here, and started again when it crashes. Agents may")
	w.note("leave out the variables that tell where the supervisor's socket is; if nobody is")
	w.note("found there, add --socket and the path that `hostsup run` prints.")
	w.note("")
	if slices.ContainsFunc(hosts, func(h Host) bool { return h.Kind != Neovim && h.Known == "" && h.URL == nil }) {
		w.note("A server that hangs is reported and not killed, because servers may be busy for")
		w.note("minutes without a word. In a host, unresponsive { kill_after = \"5m\" } kills one")
		w.note("that owes a sign of life for so long, and it is started again. Servers that are")
		w.note("known to answer while they are busy have that here.")
	} else {
		w.note("A server that owes a sign of life for as long as its kill_after is killed and")
		w.note("started again.")
	}
}

// note writes a line of comment, whatever characters the text has.
func (w *writer) note(text string) {
	w.Line(strings.TrimRight("# "+oneLine(text), " "))
}

// set writes a setting and, on its line, the reason for it.
func (w *writer) set(name, value, why string) {
	w.Set(name, value, oneLine(why))
}

func (w *writer) host(h Host) {
	w.Line("")
	if h.About != "" {
		w.note(h.About + ".")
	}
	for _, r := range h.Remarks {
		w.note(r)
	}
	if h.Hidden {
		w.note("It takes a secret as an argument, which sh puts there at the start. Who lists")
		w.note("processes sees it: if the program can take it from a variable, use that.")
	}
	w.Open("host " + policy.Quote(h.Name))
	if h.URL != nil {
		w.remote(h)
		w.Close()
		return
	}
	if from := w.whereFrom(h); from != "" {
		w.note(from)
	}
	w.command(h)
	switch h.Kind {
	case LanguageServer:
		w.set("protocol", policy.Quote("jsonrpc-headers"), "what language servers speak on stdin and stdout")
		w.set("attach", "true", "starts when the first editor attaches, with the parameters of that editor")
	case MCPServer:
		w.set("protocol", policy.Quote("jsonrpc-lines"), "what MCP servers speak on stdin and stdout")
		w.set("attach", "true", "starts when the first agent attaches, with the parameters of that agent")
	case Neovim:
		w.set("protocol", policy.Quote("msgpack-rpc"), "what Neovim speaks; try: hostsup call "+h.Name+` nvim_eval '["6*7"]'`)
	}
	if h.Dir != nil {
		w.set("dir", expression(h.Dir), "where it runs")
	}
	w.inherit(h)
	w.env(h)
	w.start(h)
	switch {
	case h.Start > 0:
	case h.Fetches:
		w.Open("start")
		w.set("timeout", policy.Quote("2m"), "the first start may have to download it")
		w.set("on_timeout", policy.Quote("wait"), "after that it is reported as slow, but not killed")
		w.Close()
	}
	if h.Known != "" {
		w.Open("unresponsive")
		w.set("kill_after", policy.Quote("5m"), "kills it when it owes a sign of life for so long; it is started again")
		w.Close()
	}
	w.Close()
}

// start writes the time-out that the list of an agent has.
func (w *writer) start(h Host) {
	if h.Start > 0 {
		w.Open("start")
		w.set("timeout", policy.Quote(h.Start.String()), "as it is where it comes from")
		w.Close()
	}
}

// remote writes what a host has that is a server elsewhere.
func (w *writer) remote(h Host) {
	w.set("url", expression(h.URL), "an MCP server, which is reached over HTTP")
	w.set("attach", "true", "is reached when the first agent attaches, with the parameters of that agent")
	if len(h.Inherit) > 0 {
		quotes := make([]string, len(h.Inherit))
		for i, name := range h.Inherit {
			quotes[i] = policy.Quote(name)
		}
		w.set("inherit_env", "["+strings.Join(quotes, ", ")+"]", "how the network is reached")
	}
	w.start(h)
	if h.Token == nil && len(h.Headers) == 0 && !h.Unencrypted {
		return
	}
	w.Open("remote")
	if h.Token != nil {
		w.set("token", expression(h.Token), "sent as Authorization: Bearer")
	}
	if len(h.Headers) > 0 {
		w.Open("headers =")
		w.entries(h.Headers)
		w.Close()
	}
	if h.Unencrypted {
		w.set("allow_unencrypted", "true", "")
	}
	w.Close()
}

func (w *writer) command(h Host) {
	quotes := make([]string, len(h.Command))
	for i, t := range h.Command {
		if i == 0 && t.IsLiteral() {
			t = lists.Literal(w.program(h))
		}
		quotes[i] = expression(t)
	}
	w.List("command", quotes)
}

// expression writes a value in the configuration language.
func expression(t Text) string {
	if len(t) == 1 && !t[0].IsLiteral() {
		return call(t[0])
	}
	var b strings.Builder
	b.WriteByte('"')
	for i, p := range t {
		if !p.IsLiteral() {
			b.WriteString("${" + call(p) + "}")
			continue
		}
		quoted := policy.Quote(p.Words)
		inner := quoted[1 : len(quoted)-1]
		if last := len(inner) - 1; i+1 < len(t) && last >= 0 && (inner[last] == '$' || inner[last] == '%') {
			inner = inner[:last] + `${"` + inner[last:] + `"}` // would escape the template that follows
		}
		b.WriteString(inner)
	}
	b.WriteByte('"')
	return b.String()
}

// call writes the function that a part of a value stands for.
func call(p lists.Part) string {
	switch {
	case p.Env == "":
		return "secret(" + policy.Quote(p.Secret) + ")"
	case p.HasDefault:
		return "env(" + policy.Quote(p.Env) + ", " + policy.Quote(p.Default) + ")"
	}
	return "env(" + policy.Quote(p.Env) + ")"
}

// program returns how the program is named in the file. A relative path starts from
// the file's folder, unless dir is set.
func (w *writer) program(h Host) string {
	p := h.program()
	if h.Dir != nil || !filepath.IsAbs(p) {
		return p
	}
	if rel, err := filepath.Rel(w.base, p); err == nil && filepath.IsLocal(rel) {
		return "./" + filepath.ToSlash(rel)
	}
	return p
}

func (w *writer) whereFrom(h Host) string {
	if !h.Command[0].IsLiteral() {
		return ""
	}
	switch p := w.program(h); {
	case !strings.ContainsRune(filepath.ToSlash(p), '/'):
		return "The program is looked up in the supervisor's PATH."
	case strings.HasPrefix(p, "./"):
		return "The path starts from this file's folder."
	}
	return ""
}

func (w *writer) inherit(h Host) {
	var list []string
	for _, n := range append([]string{"PATH", "HOME"}, h.Inherit...) {
		if _, set := h.Env[n]; !set {
			list = append(list, policy.Quote(n))
		}
	}
	if list != nil {
		w.set("inherit_env", "["+strings.Join(list, ", ")+"]", "nothing else of the supervisor's environment gets there")
	}
}

func (w *writer) env(h Host) {
	if len(h.Env) == 0 {
		return
	}
	w.note("Set beside those.")
	w.Open("env =")
	w.entries(h.Env)
	w.Close()
}

// entries writes what a map has.
func (w *writer) entries(values map[string]Text) {
	for _, k := range slices.Sorted(maps.Keys(values)) {
		key := k
		if k == "for" || !hclsyntax.ValidIdentifier(k) {
			key = policy.Quote(k)
		}
		w.set(key, expression(values[k]), "")
	}
}

// oneLine keeps a text from being more than a comment, and from being displayed as
// something else.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, s)
}
