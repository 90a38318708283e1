package simulation

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/hostsup/hostsup/lifecycle"
)

// What is promised to attached programs.

// inquiry is a request of an attached program.
type inquiry struct {
	number   int
	editor   *editor
	method   string
	what     string // the method, or the name of a command
	uri      string // of the document that it is about; "" without one
	text     string // of that, as the editor has it
	of       *copied
	version  int // of that
	began    time.Time
	reads    int    // how often it was read
	life     int    // that has read it last
	apart    string // why the life that has read it last cannot answer it; "" if it can
	resolved bool
}

// shared is what the checker knows of the programs that are attached to hosts.
type shared struct {
	editors   []*editor // those that are attached, in the order of their arrival
	inquiries []*inquiry
	texts     map[string]map[string]string // of a host: the documents of its last life
	of        map[string]int               // of a host: the life that has them
}

// comes: a program attaches.
func (c *checker) comes(e *editor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shared.editors = append(c.shared.editors, e)
	c.note("%s is attached to %s, as number %d", e.name, e.host, e.number)
}

// goes: a program is not attached any more.
func (c *checker) goes(e *editor, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shared.editors = slices.DeleteFunc(c.shared.editors, func(o *editor) bool { return o == e })
	c.note("%s, number %d, is let go: %v", e.name, e.number, err)
}

// inquires: a program makes a request.
func (c *checker) inquires(q *inquiry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shared.inquiries = append(c.shared.inquiries, q)
	q.number, q.began = len(c.shared.inquiries), time.Now()
	c.note("inquiry %d of %s: %s", q.number, q.editor.name, q.what)
}

// inquired: a process has read an inquiry, while its document had a text.
func (c *checker) inquired(p *process, number int, method string, text *string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note("%s: life %d reads inquiry %d", p.host, p.life, number)
	if number < 1 || number > len(c.shared.inquiries) {
		c.fail("%s: life %d reads inquiry %d, which was not made", p.host, p.life, number)
		return
	}
	q := c.shared.inquiries[number-1]
	if q.editor.host != p.host || q.method != method {
		c.fail("%s: life %d reads inquiry %d as %s, which is %s of %s", p.host, p.life, number, method, q.method, q.editor.host)
	}
	q.apart = ""
	if text != nil && *text != q.text { // the text has changed while the host was down
		q.apart = fmt.Sprintf("%s of life %d is %q, that of %s was %q", q.uri, p.life, *text, q.editor.name, q.text)
	}
	q.reads++
	if q.reads > 2 || q.reads > 1 && (q.method == command || q.life == p.life) {
		c.fail("%s: life %d reads inquiry %d, a %s, for the %d. time", p.host, p.life, number, q.method, q.reads)
	}
	q.life = p.life
}

// resolved: an inquiry has its outcome.
func (c *checker) resolved(q *inquiry, n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note("inquiry %d of %s after %s: %d, %v", q.number, q.editor.name, time.Since(q.began), n, err)
	if q.resolved {
		c.fail("inquiry %d of %s has a second outcome", q.number, q.editor.name)
	}
	q.resolved = true
	switch {
	case err == nil && n != q.number:
		c.fail("inquiry %d of %s is answered with that to inquiry %d", q.number, q.editor.name, n)
	case err == nil && q.reads == 0:
		c.fail("inquiry %d of %s is answered, and no process has read it", q.number, q.editor.name)
	case err == nil && q.apart != "":
		c.fail("inquiry %d of %s is answered for another text: %s", q.number, q.editor.name, q.apart)
	case err != nil && q.apart == "" && !q.editor.hasChanged(q) && q.life != 0 && c.isQuiet(q.editor.host, q.life, q.began):
		c.fail("inquiry %d of %s fails while life %d goes on: %v", q.number, q.editor.name, q.life, err)
	}
}

// progresses: a program is told of progress.
func (c *checker) progresses(e *editor, token, kind, title string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note("%s: %s of %s: %s", e.name, kind, token, title)
	if kind != "begin" { // the hub ends what a life has begun
		return
	}
	n, err := strconv.Atoi(title)
	if err != nil || n < 1 || n > len(c.shared.inquiries) {
		c.fail("%s is told of progress %q of %s", e.name, title, token)
		return
	}
	if q := c.shared.inquiries[n-1]; q.editor != e || token != strconv.Itoa(n%3) || q.resolved {
		c.fail("%s, number %d, is told under token %s of the progress of inquiry %d of %s, number %d", e.name, e.number, token, n, q.editor.name, q.editor.number)
	}
}

// diagnosed: a program is told what the server has found in a document. While another program has
// another text of it, what was found in that must not be told. What was found before the program has
// opened the document may be: its versions count from 1 again. The hub learns of that after a moment.
func (c *checker) diagnosed(e *editor, f findings, d *copied) {
	e.mu.Lock()
	text, had := d.versions[f.Version]
	e.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	said := f.Diagnostics[0].Message
	if had && said == firstLine(text) || time.Since(d.opened) < c.slack {
		return
	}
	for _, o := range c.shared.editors {
		if o != e && o.host == e.host && o.hasHad(f.URI, said) {
			c.fail("%s is told of version %d of %s that its first line is %q, as %s has it; it is %q", e.name, f.Version, f.URI, said, o.name, firstLine(text))
		}
	}
}

// shows: a life of a server has a text of a document, or nil.
func (c *checker) shows(p *process, uri string, text *string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.shared
	if s.of[p.host] != p.life {
		s.of[p.host], s.texts[p.host] = p.life, make(map[string]string)
	}
	if text == nil {
		c.note("%s: life %d has %s no more", p.host, p.life, uri)
		delete(s.texts[p.host], uri)
		return
	}
	c.note("%s: life %d has %s: %q", p.host, p.life, uri, *text)
	s.texts[p.host][uri] = *text
}

// sameTexts looks, while nothing is being done, whether each server has the documents that programs
// have open, with the text of the program that has used it last.
func (c *checker) sameTexts(stateOf func(host string) lifecycle.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owed()
	now := time.Now()
	for host, spec := range c.hosts {
		s := c.latest[host]
		if !isShared(&spec) || s == nil || stateOf(host) != lifecycle.Running || !c.isQuiet(host, s.life, now.Add(-c.slack)) || s.greeted.IsZero() || now.Sub(s.greeted) < c.slack {
			continue
		}
		last := make(map[string][]*copied) // by document: those that have been used last
		for _, e := range c.shared.editors {
			if e.host != host || e.hasParted() {
				continue
			}
			e.mu.Lock()
			for uri, d := range e.copies {
				switch have := last[uri]; {
				case len(have) == 0 || d.used.Sub(have[0].used) > c.slack:
					last[uri] = []*copied{d}
				case have[0].used.Sub(d.used) <= c.slack:
					last[uri] = append(have, d)
				}
			}
			e.mu.Unlock()
		}
		has := c.shared.texts[host]
		if c.shared.of[host] != s.life {
			has = nil
		}
		for uri, of := range last {
			text, is := has[uri]
			if now.Sub(of[0].used) > c.slack && (!is || !slices.ContainsFunc(of, func(d *copied) bool { return d.text == text })) {
				c.fail("%s: life %d has %s as %q, open: %v; the program that has used it last has %q", host, s.life, uri, text, is, of[0].text)
			}
		}
		for uri := range has {
			if last[uri] == nil {
				c.fail("%s: life %d has %s, which no program has open", host, s.life, uri)
			}
		}
	}
}

// owed looks, while nothing is being done, for inquiries without an outcome. One that no life has read
// waits for the next, and a hover is made once more. c.mu is held.
func (c *checker) owed() {
	for _, q := range c.shared.inquiries {
		s := c.latest[q.editor.host]
		if q.resolved || q.editor.hasParted() || !slices.Contains(c.shared.editors, q.editor) || time.Since(q.began) < c.slack || s == nil {
			continue
		}
		switch runs := c.isQuiet(q.editor.host, s.life, time.Now().Add(-c.slack)) && !s.greeted.IsZero() && time.Since(s.greeted) > c.slack; {
		case runs && (q.life != s.life || q.what != silent && q.what != hang):
			c.fail("inquiry %d of %s has no outcome: life %d has read it, and life %d runs", q.number, q.editor.name, q.life, s.life)
		case s.over && time.Since(s.overAt) > c.slack && q.life != 0 && q.method == command:
			c.fail("inquiry %d of %s has no outcome: life %d has read it, and is over", q.number, q.editor.name, q.life)
		}
	}
}

// endShared looks at what is left of attached programs. c.mu is held.
func (c *checker) endShared() {
	for _, e := range c.shared.editors {
		c.fail("%s is attached to %s at the end", e.name, e.host)
	}
}
