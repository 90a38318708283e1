package show

import (
	"fmt"
	"io"
	"strings"

	"github.com/hostsup/hostsup/workbench/views"
)

var viewColumns = []column{{title: "HOST"}, {title: "VIEW"}, {title: "VISIBLE"}, {title: "SHOWS"}}

// Views writes views as a table, one line each.
func (s Screen) Views(w io.Writer, list []views.View) error {
	var rows [][]cell
	for _, v := range list {
		visible := "no"
		if v.Visible {
			visible = "yes"
		}
		rows = append(rows, []cell{{text: Clean(v.Host)}, {text: Clean(v.ID)}, {text: visible}, {text: orNone(ViewText(v))}})
	}
	return s.table(w, viewColumns, rows)
}

// ViewText returns what stands above the items of a view, in one line.
func ViewText(v views.View) string {
	parts := []string{v.Title, v.Description, v.Message}
	if b := v.Badge; b != nil {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("(%d %s", b.Value, b.Tooltip))+")")
	}
	return joined(parts)
}

// joined returns the parts that have a text.
func joined(parts []string) string {
	var some []string
	for _, part := range parts {
		if part != "" {
			some = append(some, part)
		}
	}
	return strings.Join(some, " ")
}

// Tree writes the items of a view, one line each, indented by two spaces for each level: - before an
// expanded item, + before a collapsed one; with a check box if it has one. With handles each line ends
// with the handle of its item.
func (s Screen) Tree(w io.Writer, t views.Tree, handles bool) error {
	head := ViewText(t.View)
	if t.Item != nil {
		head = joined([]string{t.Item.Label, t.Item.Description, t.Item.Tooltip})
	}
	if head != "" {
		if _, err := fmt.Fprintln(w, Clean(head)); err != nil {
			return err
		}
	}
	if err := tree(w, t.Items, "", handles, marked(t.View.Selection)); err != nil {
		return err
	}
	if t.Truncated {
		_, err := fmt.Fprintln(w, "…")
		return err
	}
	return nil
}

func marked(handles []string) map[string]bool {
	out := map[string]bool{}
	for _, handle := range handles {
		out[handle] = true
	}
	return out
}

func tree(w io.Writer, items []views.Item, indent string, handles bool, selected map[string]bool) error {
	for _, item := range items {
		sign := map[string]string{views.Collapsed: "+ ", views.Expanded: "- "}[item.State]
		if sign == "" {
			sign = "  "
		}
		box := ""
		if item.Checked != nil {
			box = map[bool]string{true: "[x]", false: "[ ]"}[*item.Checked]
		}
		mark := ""
		if selected[item.Handle] {
			mark = "(selected)"
		}
		line := indent + sign + Clean(joined([]string{box, item.Label, item.Description, mark}))
		if handles {
			line += "  " + Clean(item.Handle)
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
		if err := tree(w, item.Items, indent+"  ", handles, selected); err != nil {
			return err
		}
	}
	return nil
}
