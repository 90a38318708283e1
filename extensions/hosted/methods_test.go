package hosted

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	wire "github.com/hostsup/hostsup/codec/vscode"
	"github.com/hostsup/hostsup/extensions/service"
	"github.com/hostsup/hostsup/extensions/vscode"
)

var update = flag.Bool("update", false, "write the table of "+methodsPage)

const methodsPage = "../../docs/main-thread.md"

// What answers each method is as the page says. With -update the table is written.
func TestMethodsPageIsCurrent(t *testing.T) {
	page, err := os.ReadFile(methodsPage)
	if err != nil {
		t.Fatal(err)
	}
	head, _, ok := strings.Cut(string(page), "\n## Methods\n")
	if !ok {
		t.Fatalf("%s has no heading Methods", methodsPage)
	}
	want := head + "\n## Methods\n" + methodsTable(t)
	if want == string(page) {
		return
	}
	if !*update {
		t.Fatalf("%s is not current: go test ./extensions/hosted -update", methodsPage)
	}
	if err := os.WriteFile(methodsPage, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// methodsTable returns the methods by object, and the counts.
func methodsTable(t *testing.T) string {
	t.Helper()
	p := vscode.New(vscode.Options{})
	answering := (&services{}).workbenchOf(nil, p, &guards{}).Answering()
	listed := map[string]bool{}
	counts := map[string]int{}
	var body strings.Builder
	object := ""
	for m := range wire.MainThreadMethods() {
		listed[m.Name] = true
		name, method, _ := strings.Cut(m.Name, ".")
		if name != object {
			object = name
			fmt.Fprintf(&body, "\n### %s\n\n| method | releases | answer |\n|---|---|---|\n", object)
		}
		kind, text := m.Answer, m.Answer
		switch s := answering[m.Name]; {
		case s != nil:
			kind, text = "service", "`"+strings.TrimPrefix(reflect.TypeOf(s).Elem().PkgPath(), "github.com/hostsup/hostsup/")+"`"
		case slices.Contains(service.MainThreadMethods(), m.Name):
			kind, text = "service", "`extensions/service`"
		case p.Serve(m.Name) != nil, p.Keep(m.Name) != nil:
			kind, text = "service", "`extensions/vscode`"
		case m.Answer == "refused":
			text += ": " + m.Detail
		case m.Detail != "":
			text += " `" + m.Detail + "`"
		}
		counts[kind]++
		fmt.Fprintf(&body, "| `%s` | %s | %s |\n", method, m.Releases, text)
	}
	for name := range answering {
		if !listed[name] {
			t.Errorf("%s is in no release", name)
		}
	}
	total := 0
	for _, n := range counts {
		total += n
	}
	return fmt.Sprintf("\n%d methods: a service answers %d, %d only tell something, %d are about what a window shows, %d are undefined, %d have a\nvalue, %d are refused.\n",
		total, counts["service"], counts["told"], counts["unseen"], counts["undefined"], counts["value"], counts["refused"]) + body.String()
}
