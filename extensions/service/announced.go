package service

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions"
)

// announced takes what a life says of its extensions. Where some are declared
// that is compared; else it is what there is.
func (p *program) announced(list []codec.Announced) {
	var fit []codec.Announced
	for _, a := range list {
		id := extensions.MakeID(a.ID)
		switch {
		case !id.Valid():
			p.wrong("", "host %s announces %q, which is no id of an extension; expected publisher.name", p.name, a.ID)
		case slices.ContainsFunc(fit, func(b codec.Announced) bool { return extensions.MakeID(b.ID) == id }):
			p.wrong(id, "host %s announces %s twice", p.name, a.ID)
		default:
			fit = append(fit, a)
		}
	}
	if len(p.declared) > 0 {
		fit = p.compared(fit)
	}
	known := make([]extensions.Extension, len(fit))
	for i, a := range fit {
		known[i] = unit(a)
	}
	p.s.known(known)
}

// compared is what is declared, completed by what is announced.
func (p *program) compared(list []codec.Announced) []codec.Announced {
	find := func(in []codec.Announced, id extensions.ID) int {
		return slices.IndexFunc(in, func(a codec.Announced) bool { return extensions.MakeID(a.ID) == id })
	}
	for _, a := range list {
		if id := extensions.MakeID(a.ID); find(p.declared, id) < 0 {
			p.wrong(id, "%s: host %s announces it, and it is not declared: %s", id, p.name, names("declared are", p.declared))
		}
	}
	out := slices.Clone(p.declared)
	for i := range out {
		d, id := &out[i], extensions.MakeID(out[i].ID)
		at := find(list, id)
		if at < 0 {
			p.wrong(id, "%s: it is declared, and host %s does not announce it: %s", id, p.name, names("announced are", list))
			continue
		}
		a := list[at]
		if d.Version != "" && d.Version != a.Version {
			p.wrong(id, "%s: version: %q is declared, and host %s announces %q", id, d.Version, p.name, a.Version)
		}
		d.Version = cmp.Or(d.Version, a.Version)
		for _, m := range []struct {
			what     string
			declared *[]string
			says     []string
			same     func(string) string
		}{
			{"events", &d.Events, a.Events, plain}, {"methods", &d.Methods, a.Methods, plain},
			{"depends_on", &d.DependsOn, a.DependsOn, func(s string) string { return string(extensions.MakeID(s)) }},
		} {
			if *m.declared == nil {
				*m.declared = m.says
			} else if !slices.Equal(set(*m.declared, m.same), set(m.says, m.same)) {
				p.wrong(id, "%s: %s: %s declared, and host %s announces %s", id, m.what, quoted(*m.declared, " are"), p.name, quoted(m.says, ""))
			}
		}
	}
	return out
}

func plain(s string) string { return s }

// set is a list without order and repetition.
func set(list []string, same func(string) string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = same(s)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func quoted(list []string, are string) string {
	if len(list) == 0 {
		return "none" + are
	}
	parts := make([]string, len(list))
	for i, s := range list {
		parts[i] = fmt.Sprintf("%q", s)
	}
	return strings.Join(parts, ", ") + are
}

func names(what string, list []codec.Announced) string {
	if len(list) == 0 {
		return what + " none"
	}
	parts := make([]string, len(list))
	for i, a := range list {
		parts[i] = a.ID
	}
	return what + " " + strings.Join(parts, ", ")
}

// wrong tells once what is wrong with what a host announces.
func (p *program) wrong(id extensions.ID, format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !p.s.said[text] {
		p.s.said[text] = true
		p.s.problem(id, fmt.Errorf("%s", text))
	}
}

// known takes what there is now: what is new or different is added, what is gone
// removed.
func (s *Service) known(list []extensions.Extension) {
	var c extensions.Change
	for _, old := range s.found {
		at := slices.IndexFunc(list, func(x extensions.Extension) bool { return x.ID == old.ID })
		if s.registry.Has(old.ID) && (at < 0 || !reflect.DeepEqual(old, list[at])) {
			c.Remove = append(c.Remove, old.ID)
		}
	}
	for _, x := range list {
		old, was := s.extension(x.ID)
		if s.disabled[x.ID] == "" && (!was || !reflect.DeepEqual(old, x)) {
			c.Add = append(c.Add, x)
			delete(s.refused, x.ID)
		}
	}
	same := slices.EqualFunc(s.found, list, func(a, b extensions.Extension) bool { return a.ID == b.ID && reflect.DeepEqual(a, b) })
	s.found = list
	s.remember()
	if same {
		return
	}
	_ = s.change(c) // what is refused is told
}

// remember makes known to callers which methods are of extensions.
func (s *Service) remember() {
	methods := map[string]bool{}
	for _, x := range s.found {
		for _, event := range x.Events {
			if method, ok := strings.CutPrefix(event, eventCommand); ok {
				methods[method] = true
			}
		}
	}
	s.methods.Store(&methods)
}
