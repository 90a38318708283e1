package metrics_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"go.yaml.in/yaml/v3"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/metrics"
)

// joined are labels that Prometheus adds to each metric that it scrapes.
var joined = []string{"job", "instance"}

// expressions returns the queries of the alert rules and of the dashboard, by where they are.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	text, err := os.ReadFile("../packaging/prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	dec := yaml.NewDecoder(strings.NewReader(string(text)))
	dec.KnownFields(true)
	if err := dec.Decode(&rules); err != nil {
		t.Fatal(err)
	}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if r.Expr == "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("alert %s is not whole: %+v", r.Alert, r)
			}
			out["alert "+r.Alert] = r.Expr
		}
	}
	if len(out) < 5 {
		t.Errorf("only %d alerts", len(out))
	}

	var board struct {
		Title  string
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Name, Definition string }
		}
	}
	text, err = os.ReadFile("../packaging/grafana/hostsup.json")
	if err == nil {
		err = json.Unmarshal(text, &board)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range board.Panels {
		for _, q := range p.Targets {
			out["panel "+p.Title+": "+q.Expr] = q.Expr
		}
	}
	for _, v := range board.Templating.List {
		if v.Definition != "" {
			out["variable "+v.Name] = v.Definition
		}
	}
	return out
}

var (
	quoted   = regexp.MustCompile(`"[^"]*"`)
	metric   = regexp.MustCompile(`\b(hostsup|process|go)_[a-z_]+\b`)
	selector = regexp.MustCompile(`\b((?:hostsup|process|go)_[a-z_]+)\{([^}]*)\}`)
	matcher  = regexp.MustCompile(`([a-z_]+)(?:=~|!~|!=|=)"([^"]*)"`)
)

// family returns the family of a metric, whose name a histogram lengthens.
func family(all map[string]*dto.MetricFamily, name string) *dto.MetricFamily {
	if f := all[name]; f != nil {
		return f
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if f := all[strings.TrimSuffix(name, suffix)]; f != nil && f.GetType() == dto.MetricType_HISTOGRAM {
			return f
		}
	}
	return nil
}

var update = flag.Bool("update", false, "write the table of metrics in docs/operations.md anew")

// The table in the documentation is that of the families.
func TestTableOfMetricsIsCurrent(t *testing.T) {
	const page, head = "../docs/operations.md", "| metric | type | labels | what it is |\n|---|---|---|---|\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), head)
	if !ok {
		t.Fatalf("%s has no table of metrics", page)
	}
	var table strings.Builder
	for _, f := range metrics.Families() {
		labels := strings.Join(f.Labels, "`, `")
		if labels != "" {
			labels = "`" + labels + "`"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", f.Name, f.Type, labels, strings.TrimSuffix(f.Help, "."))
	}
	end := 0
	for strings.HasPrefix(rest[end:], "|") {
		end += strings.Index(rest[end:], "\n") + 1
	}
	if rest[:end] == table.String() {
		return
	}
	if !*update {
		t.Fatalf("the table of metrics in %s is not current; go test ./metrics -run TestTableOfMetricsIsCurrent -update writes it anew", page)
	}
	if err := os.WriteFile(page, []byte(before+head+table.String()+rest[end:]), 0o644); err != nil {
		t.Fatal(err)
	}
}

// What alerts and dashboard name is exported: metrics, labels and the values of states.
func TestAlertsAndDashboardNameWhatIsExported(t *testing.T) {
	sup, m := everything(t)
	ts, err := sup.Host("ts")
	if err == nil {
		err = ts.Call(t.Context(), "echo", 1, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, _ := scrape(t, m, "")
	all := parse(t, text)
	queries := expressions(t)
	used := 0
	for where, expr := range queries {
		for _, name := range metric.FindAllString(quoted.ReplaceAllString(expr, ""), -1) {
			used++
			if family(all, name) == nil {
				t.Errorf("%s: %s is not exported", where, name)
			}
		}
		for _, s := range selector.FindAllStringSubmatch(expr, -1) {
			f := family(all, s[1])
			if f == nil {
				continue
			}
			for _, l := range matcher.FindAllStringSubmatch(s[2], -1) {
				has := func(p *dto.LabelPair) bool { return p.GetName() == l[1] }
				if !slices.Contains(joined, l[1]) && !slices.ContainsFunc(f.Metric[0].Label, has) {
					t.Errorf("%s: %s has no label %s", where, s[1], l[1])
				}
				for _, state := range strings.Split(l[2], "|") {
					if l[1] == "state" && !lifecycle.State(state).Valid() {
						t.Errorf("%s: there is no state %s", where, state)
					}
				}
			}
		}
	}
	if used < 20 {
		t.Errorf("only %d metrics are used", used)
	}
}
