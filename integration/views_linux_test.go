//go:build linux

package integration

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/workbench/views"
)

// trees runs a host with an extension that has a tree.
func trees(t *testing.T, version string) (*supervisor.Supervisor, *supervisor.Host, *views.Service) {
	sup, h := alone(t, edited(t, version, "trees"))
	ready(t, h)
	svc, err := views.Of(h.Ref())
	if err != nil {
		t.Fatal(err)
	}
	return sup, h, svc
}

// treeText returns items, one in each line.
func treeText(items []views.Item, indent string) (lines []string) {
	for _, item := range items {
		box := ""
		if item.Checked != nil {
			box = fmt.Sprintf(" %v", *item.Checked)
		}
		lines = append(lines, fmt.Sprintf("%s%s (%s, %s)%s", indent, item.Label, item.Description, item.State, box))
		lines = append(lines, treeText(item.Items, indent+"  ")...)
	}
	return lines
}

func readsTree(t *testing.T, svc *views.Service, q views.Query, want ...string) *views.Tree {
	t.Helper()
	tree, err := svc.Read(ctx(t), q)
	if err != nil {
		t.Fatal(err)
	}
	if got := treeText(tree.Items, ""); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	return tree
}

// tells compares what the extension was told since it was asked last.
func tells(t *testing.T, h *supervisor.Host, want ...string) {
	t.Helper()
	var got []string
	eventually(t, func() bool {
		var more []string
		if err := executes(t, h, &more, "trees.told"); err != nil {
			t.Fatal(err)
		}
		got = append(got, more...)
		return len(got) >= len(want)
	}, "the extension was told", strings.Join(want, "; "))
	if !slices.Equal(got, want) {
		t.Errorf("the extension was told %q, want %q", got, want)
	}
}

// Trees of extensions are read without a window: the extension is activated for its view, items below
// expanded ones are read and others when it is asked for, and a change of the extension is read.
func TestTreesOfExtensions(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		_, h, svc := trees(t, version)
		of := views.Query{Host: h.Name(), View: "acme.tree"}
		tree := readsTree(t, svc, of, "fruit (5 letters, expanded)", "  apple (5 letters, leaf)", "  pear (4 letters, leaf) false", "nuts (4 letters, collapsed)")
		if v := tree.View; v.Title != "Fruit" || v.Visible || !v.Many {
			t.Errorf("%+v", v)
		}
		of.Depth = 1
		tree = readsTree(t, svc, of, "fruit (5 letters, expanded)", "  apple (5 letters, leaf)", "  pear (4 letters, leaf) false", "nuts (4 letters, collapsed)", "  hazel (5 letters, leaf)")
		nuts := tree.Items[1]
		if hazel := nuts.Items[0]; hazel.Resource != "file:///srv/hazel" || hazel.Context != "food" {
			t.Errorf("%+v", hazel)
		}
		of.Item = nuts.Handle
		tree = readsTree(t, svc, of, "hazel (5 letters, leaf)")
		if tree.Item == nil || tree.Item.Tooltip != "**nuts**" {
			t.Errorf("the tooltip of %+v is not resolved", tree.Item)
		}
		of.Item, of.Depth = "", 0

		changed := make(chan views.View, 10)
		stop := svc.Subscribe(func(v views.View) {
			select {
			case changed <- v:
			default: // one is enough
			}
		})
		defer stop()
		for _, c := range []struct{ how, what string }{{"add", "fig"}, {"all", "pecan"}} {
			if err := executes(t, h, nil, "trees.do", c.how, c.what); err != nil {
				t.Fatal(err)
			}
			select {
			case <-changed:
			case <-ctx(t).Done():
				t.Fatal("no change was told")
			}
		}
		of.Depth = 1
		readsTree(t, svc, of, "fruit (5 letters, expanded)", "  apple (5 letters, leaf)", "  pear (4 letters, leaf) false", "  fig (3 letters, leaf)", "nuts (4 letters, collapsed)", "  hazel (5 letters, leaf)", "  pecan (5 letters, leaf)")

		if err := executes(t, h, nil, "trees.do", "head"); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() bool {
			v := svc.State(h.Name())[0]
			return v.Message == "two kinds" && v.Description == "all" && v.Badge != nil && *v.Badge == views.Badge{Value: 3, Tooltip: "ripe"}
		}, "the head of the view")
		if err := executes(t, h, nil, "trees.do", "dispose"); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() bool { return len(svc.State("")) == 0 }, "the end of the view")
		if _, err := svc.Read(ctx(t), of); !errors.Is(err, views.ErrNoView) {
			t.Errorf("a view that was disposed is read: %v", err)
		}
	})
}

// What a user does in a tree reaches its extension, and what an extension reveals is revealed.
func TestActionsInTrees(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		_, h, svc := trees(t, version)
		tree, err := svc.Read(ctx(t), views.Query{View: "acme.tree", Depth: 1})
		if err != nil {
			t.Fatal(err)
		}
		fruit, nuts := tree.Items[0], tree.Items[1]
		apple, pear := fruit.Items[0], fruit.Items[1]
		act := func(action views.Action, items ...string) {
			t.Helper()
			if err := svc.Act(ctx(t), "", "acme.tree", action, items...); err != nil {
				t.Errorf("%s: %v", action, err)
			}
		}
		act(views.Show)
		act(views.Collapse, fruit.Handle)
		act(views.Expand, nuts.Handle, fruit.Handle)
		act(views.Select, apple.Handle, pear.Handle)
		act(views.Check, pear.Handle)
		act(views.Run, apple.Handle)
		act(views.Hide)
		tells(t, h, "visible true", "collapsed fruit", "expanded nuts", "expanded fruit", "selected apple,pear", "checked pear 1", "ate apple", "visible false")
		readsTree(t, svc, views.Query{View: "acme.tree"}, "fruit (5 letters, expanded)", "  apple (5 letters, leaf)", "  pear (4 letters, leaf) true", "nuts (4 letters, expanded)", "  hazel (5 letters, leaf)")
		for _, c := range []struct {
			action views.Action
			item   string
			want   error
		}{{views.Expand, apple.Handle, views.ErrAction}, {views.Check, apple.Handle, views.ErrAction}, {views.Run, pear.Handle, views.ErrAction}, {"drag", apple.Handle, views.ErrAction}, {views.Select, "0/7:plum", views.ErrNoItem}} {
			if err := svc.Act(ctx(t), "", "acme.tree", c.action, c.item); !errors.Is(err, c.want) {
				t.Errorf("%s %s: %v, want %v", c.action, c.item, err, c.want)
			}
		}

		var is struct {
			Visible   bool
			Selection []string
		}
		out := []any{&is.Visible, &is.Selection}
		if err := executes(t, h, &out, "trees.do", "reveal", "hazel"); err != nil {
			t.Fatal(err)
		}
		tells(t, h, "visible true", "selected hazel")
		if v := svc.State("")[0]; !v.Visible || !slices.Equal(v.Selection, []string{nuts.Items[0].Handle}) {
			t.Errorf("%+v", v)
		}
		act(views.Hide)
		if err := executes(t, h, nil, "trees.do", "focus"); err != nil {
			t.Fatal(err)
		}
		tells(t, h, "visible false", "visible true")

		// What a life has shown ends with it.
		signal(t, h, syscall.SIGKILL)
		eventually(t, func() bool { return len(svc.State("")) == 0 }, "the end of the views")
		ready(t, h)
		readsTree(t, svc, views.Query{View: "acme.tree"}, "fruit (5 letters, expanded)", "  apple (5 letters, leaf)", "  pear (4 letters, leaf) false", "nuts (4 letters, collapsed)")
	})
}

// The control API has the trees of all hosts.
func TestTreesOfAllHosts(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, h, _ := trees(t, version)
		c := control.Over(sup)
		tree, err := c.ReadView(ctx(t), views.Query{Host: h.Name(), View: "acme.tree"})
		if err != nil || len(tree.Items) != 2 || tree.Items[0].Label != "fruit" {
			t.Fatalf("%+v, %v", tree, err)
		}
		if err := c.ActInView(ctx(t), "", "acme.tree", views.Run, []string{tree.Items[0].Items[0].Handle}); err != nil {
			t.Error(err)
		}
		tells(t, h, "ate apple")
		if list, err := c.Views(""); err != nil || len(list) != 1 || list[0].ID != "acme.tree" {
			t.Errorf("%+v, %v", list, err)
		}
		if _, err := c.ReadView(ctx(t), views.Query{View: "other"}); !errors.Is(err, views.ErrNoView) {
			t.Errorf("%v", err)
		}
	})
}

// The references that references-view shows are read, and a click opens their document.
func TestTreeOfReferences(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sc := openScenario(t, version, scenario{
			ID: "vscode.references-view", Extensions: []string{"references-view", "typescript-basics", "typescript-language-features", "own:trees"},
			Files: map[string]string{"tsconfig.json": "{}\n", "x.ts": "export function add(a: number) { return a }\nexport const two = add(add(1))\n"},
		})
		if err := executes(t, sc.code, nil, "trees.at", "x.ts", 0, 17, "references-view.findReferences"); err != nil {
			t.Fatal(err)
		}
		svc, err := views.Of(sc.code.Ref())
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"x.ts: function add(a: number) { return a }", "x.ts: const two = add(add(1))", "x.ts: two = add(add(1))"}
		var tree *views.Tree
		eventually(t, func() bool {
			if tree, err = svc.Read(ctx(t), views.Query{View: "references-view.tree", Depth: 2}); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, file := range tree.Items {
				for _, item := range file.Items {
					got = append(got, file.Label+": "+item.Label)
				}
			}
			return slices.Equal(got, want) && tree.View.Message == "3 results in 1 file"
		}, "the references")
		if !tree.View.Visible || tree.View.Title != "References" || !slices.Equal(tree.View.Selection, []string{tree.Items[0].Items[0].Handle}) {
			t.Errorf("%+v", tree.View)
		}
		if err := svc.Act(ctx(t), "", "references-view.tree", views.Run, tree.Items[0].Items[2].Handle); err != nil {
			t.Error(err)
		}
		var selected []int
		if err := executes(t, sc.code, &selected, "trees.do", "selection"); err != nil || !slices.Equal(selected, []int{1, 23}) {
			t.Errorf("the selection is %v, %v", selected, err)
		}
	})
}
