package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/plan"
)

// declareHeader is a block of an extensions block: one extension that a host of
// protocol hostsup consists of.
var declareHeader = hcl.BlockHeaderSchema{Type: "declare", LabelNames: []string{"id"}}

func declareSection(a *codec.Announced) section {
	return section{
		name: "declare", doc: "An extension that the host consists of, so that it is known before the host runs. For settings that are left out the host's own announcement counts.",
		settings: []setting{
			named("version", "that it has", text(&a.Version)),
			named("events", "that activate it, besides the calls of its methods", words(&a.Events, `a list of activation events such as ["onLanguage:go"]`)),
			named("methods", "that it answers", words(&a.Methods, `a list of methods such as ["format.run"]`)),
			named("depends_on", "ids of extensions that are active before it", extensionIDs(&a.DependsOn)),
		},
	}
}

// words reads a list of names. An empty list differs from no list.
func words(dst *[]string, expect string) setting {
	return setting{expect: expect,
		read: func(g given) {
			list, ok := g.distinct(expect)
			for _, e := range list {
				if s := e.val.AsString(); s == "" || strings.ContainsFunc(s, unicode.IsControl) {
					e.bad("%q is not a name.", s)
					ok = false
				}
			}
			if ok {
				*dst = append([]string{}, values(list)...)
			}
		},
		show: func() string { return showStrings(*dst) },
	}
}

// labeledOf returns the blocks of a kind in the extensions block of a host.
func labeledOf(body hcl.Body, header hcl.BlockHeaderSchema) hcl.Blocks {
	outer, _, _ := body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "extensions"}}})
	if len(outer.Blocks) == 0 {
		return nil
	}
	inner, _, _ := outer.Blocks[0].Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{header}})
	return inner.Blocks
}

// units reads the declare blocks of a host's extensions.
func (r *reader) units(body hcl.Body, d *hostDecl) {
	blocks := labeledOf(body, declareHeader)
	first := map[extensions.ID]hcl.Range{}
	for _, b := range blocks {
		g := given{reader: r, name: "declare", rng: b.LabelRanges[0]}
		id, ok := g.extensionID(b.LabelRanges[0], b.Labels[0])
		a := codec.Announced{ID: b.Labels[0]}
		r.section(b.Body, b.DefRange, declareSection(&a))
		if !ok {
			continue
		}
		if at, twice := first[extensions.ID(id)]; twice {
			r.fail(b.LabelRanges[0], fmt.Sprintf("declare %q written twice", b.Labels[0]), "Line %d has one already. Remove one of the two.", at.Start.Line)
			continue
		}
		first[extensions.ID(id)] = b.LabelRanges[0]
		d.extensions.spec.Declared = append(d.extensions.spec.Declared, a)
	}
	if d.protocol == plan.VSCode && len(blocks) > 0 {
		r.fail(blocks[0].DefRange, `block "declare" has no meaning here`, "The extensions of hosts with protocol = %q are found in folders: builtin, user and development. Remove it.", d.protocol)
	}
}

// ofProtocol lists the settings of an extensions block that only hosts of one
// protocol use.
var ofProtocol = map[string][]string{
	plan.VSCode:  {"builtin", "user", "development", "registry", "trusted", "settings", "settings_file", "storage", "accounts", "questions", "question_wait"},
	plan.Hostsup: {"deactivate"},
}

// foreign refuses settings that only another protocol uses.
func (r *reader) foreign(d *hostDecl) {
	for protocol, names := range ofProtocol {
		for _, name := range slices.Sorted(slices.Values(names)) {
			if at, set := d.at["extensions."+name]; set && d.protocol != protocol {
				r.fail(at, name+" has no meaning here", "It is for hosts with protocol = %q. Remove it.", protocol)
			}
		}
	}
}
