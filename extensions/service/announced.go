package service

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions"
)

// announced handles the extensions that a life announces. It compares them with the
// declared ones, or uses them if none are declared.
func (p *program) announced(list []codec.Announced) {
	fit, wrong := valid(list, p.name)
	if len(p.declared) > 0 {
		var more []mistake
		fit, more = compared(p.declared, fit, p.name)
		wrong = append(wrong, more...)
	}
	for _, c := range wrong {
		p.reportMistake(c)
	}
	known := make([]extensions.Extension, len(fit))
	for i, a := range fit {
		known[i] = unit(a)
	}
	p.s.setKnown(known)
}

// mistake is a mistake in what a host announces.
type mistake struct {
	id   extensions.ID // may be ""
	text string
}

func newMistake(id extensions.ID, format string, args ...any) mistake {
	return mistake{id, fmt.Sprintf(format, args...)}
}

// valid drops invalid announcements.
func valid(list []codec.Announced, host string) (out []codec.Announced, wrong []mistake) {
	for _, a := range list {
		switch id := extensions.MakeID(a.ID); {
		case !id.Valid():
			wrong = append(wrong, newMistake("", "host %s announces %q, which is no id of an extension; expected publisher.name", host, a.ID))
		case find(out, id) >= 0:
			wrong = append(wrong, newMistake(id, "host %s announces %s twice", host, a.ID))
		default:
			out = append(out, a)
		}
	}
	return out, wrong
}

func find(in []codec.Announced, id extensions.ID) int {
	return slices.IndexFunc(in, func(a codec.Announced) bool { return extensions.MakeID(a.ID) == id })
}

// compared returns the declared extensions, completed by what a host announces.
func compared(declared, list []codec.Announced, host string) (out []codec.Announced, wrong []mistake) {
	for _, a := range list {
		if id := extensions.MakeID(a.ID); find(declared, id) < 0 {
			wrong = append(wrong, newMistake(id, "%s: host %s announces it, and it is not declared: %s", id, host, names("declared are", declared)))
		}
	}
	out = slices.Clone(declared)
	for i := range out {
		d, id := &out[i], extensions.MakeID(out[i].ID)
		at := find(list, id)
		if at < 0 {
			wrong = append(wrong, newMistake(id, "%s: it is declared, and host %s does not announce it: %s", id, host, names("announced are", list)))
			continue
		}
		a := list[at]
		if d.Version != "" && d.Version != a.Version {
			wrong = append(wrong, newMistake(id, "%s: version: %q is declared, and host %s announces %q", id, d.Version, host, a.Version))
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
				wrong = append(wrong, newMistake(id, "%s: %s: %s declared, and host %s announces %s", id, m.what, quoted(*m.declared, " are"), host, quoted(m.says, "")))
			}
		}
	}
	return out, wrong
}

func plain(s string) string { return s }

// set returns a list sorted and without duplicates.
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

// wrong reports a mistake in what a host announces, once.
func (p *program) reportMistake(c mistake) {
	text := p.s.text(c.text)
	if p.s.reported[text] {
		return
	}
	if len(p.s.reported) >= maxMistakes {
		clear(p.s.reported) // bounds the map; a mistake may be reported twice
	}
	p.s.reported[text] = true
	p.s.problem(c.id, errors.New(text))
}

// known replaces the extensions by list: it adds new and changed ones and removes the
// others.
func (s *Service) setKnown(list []extensions.Extension) {
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
	s.publishMethods()
	if same {
		return
	}
	_ = s.change(c) // change reports refusals
}

// publishMethods publishes which methods belong to extensions.
func (s *Service) publishMethods() {
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
