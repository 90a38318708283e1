package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
)

// editor is a simulated program that is attached to a host. It does what the story has it do, one
// after the other, once its initialize is answered.
type editor struct {
	t       *teller
	host    string
	name    string
	number  int    // of those of a story
	id      string // name and number
	conn    wire
	session codec.Session
	ready   chan struct{} // closed with the answer to initialize
	served  chan struct{} // closed when Attach has returned
	todo    chan step

	writing chan struct{}
	next    uint32 // guarded by writing

	mu     sync.Mutex
	parted bool
	open   map[uint32]*inquiry // by id
	waits  map[uint32]chan struct{}
	copies map[string]*copied // of documents that it has open, by URI
}

// copied is a document as an editor has it.
type copied struct {
	text     string
	version  int
	versions map[int]string // texts by version
	opened   time.Time
	used     time.Time // opened, changed, or asked about
}

// ofEditor are the verbs of attached programs.
var ofEditor = []string{"attach", "open", "edit", "insert", "shut", "inquire", "leave", "drop"}

// editing does what a step has an editor do.
func (t *teller) editing(st step) {
	name := st.args[0]
	if st.verb == "attach" {
		t.attach(st.host, name)
		return
	}
	t.mu.Lock()
	e := t.editors[name]
	t.mu.Unlock()
	if e != nil {
		e.todo <- st
	}
}

// attach has an editor attach, unless it is attached.
func (t *teller) attach(host, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.editors[name] != nil {
		return
	}
	t.came++
	e := &editor{
		t: t, host: host, name: name, number: t.came, id: fmt.Sprintf("%s %d", name, t.came), session: jsonrpc.Headers(jsonrpc.Options{}).Open(codec.Limits{}),
		ready: make(chan struct{}), served: make(chan struct{}), todo: make(chan step, 1000), writing: make(chan struct{}, 1),
		open: make(map[uint32]*inquiry), waits: make(map[uint32]chan struct{}), copies: make(map[string]*copied),
	}
	ours, theirs := connect(t.m.kernel, e.id)
	ours.out.steady, e.conn = true, theirs
	t.editors[name] = e
	t.check.comes(e)
	t.doing.Add(3)
	t.m.next("attach "+e.id, func() {
		defer t.doing.Done()
		defer close(e.served)
		err := t.present().sup.Attach(context.Background(), host, ours)
		_ = ours.Close()
		t.m.turn("gone " + e.id)
		t.check.goes(e, err)
	})
	t.m.next("read "+e.id, func() {
		defer t.doing.Done()
		e.read()
	})
	t.m.next("live "+e.id, func() {
		defer t.doing.Done()
		e.live()
	})
}

// live does what the editor is to do.
func (e *editor) live() {
	defer e.part()
	first := e.request("initialize", encoded(map[string]any{
		"processId": nil, "rootUri": "file:///", "capabilities": map[string]any{"window": map[string]any{"workDoneProgress": true}},
	}), nil)
	if !e.wait(first) {
		return
	}
	e.tell("initialized", lspParams{})
	for {
		select {
		case st := <-e.todo:
			if !e.do(st) {
				return
			}
		case <-e.served:
			return
		}
	}
}

// part ends the connection. The editor may come back at once, as another one.
func (e *editor) part() {
	e.mu.Lock()
	e.parted = true
	e.mu.Unlock()
	_ = e.conn.Close()
	e.t.mu.Lock()
	defer e.t.mu.Unlock()
	delete(e.t.editors, e.name)
}

// hasParted reports whether the editor has left, and still gets what it has asked for.
func (e *editor) hasParted() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.parted
}

// hasChanged reports whether the editor has changed or closed the document of an inquiry since.
func (e *editor) hasChanged(q *inquiry) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return q.of != nil && (e.copies[q.uri] != q.of || q.of.version != q.version)
}

// hasHad reports whether a document that the editor has open began with a line since it was opened.
func (e *editor) hasHad(uri, line string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	d := e.copies[uri]
	if d == nil || e.parted {
		return false
	}
	for _, text := range d.versions {
		if firstLine(text) == line {
			return true
		}
	}
	return false
}

// wait waits until a request is answered, and reports whether the editor is still attached.
func (e *editor) wait(id uint32) bool {
	e.mu.Lock()
	done := e.waits[id]
	e.mu.Unlock()
	if done == nil {
		return true
	}
	select {
	case <-done:
		return true
	case <-e.served:
		return false
	}
}

// do does one step, and reports whether the editor stays.
func (e *editor) do(st step) bool {
	uri := ""
	if len(st.args) > 1 {
		uri = "file:///" + st.args[1]
	}
	e.mu.Lock()
	d := e.copies[uri]
	e.mu.Unlock()
	switch verb := st.verb; {
	case verb == "drop":
		return false
	case verb == "leave":
		if e.wait(e.request("shutdown", nil, nil)) {
			e.tell("exit", lspParams{})
		}
		return false
	case verb == "inquire" && (st.args[2] != hover || d != nil):
		e.inquire(uri, d, st.args[2])
	case verb == "open" && d == nil:
		d = &copied{versions: make(map[int]string), opened: time.Now()}
		e.mu.Lock()
		e.copies[uri] = d
		e.mu.Unlock()
		e.use(d, "as it is on disk\n")
		e.tell("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": uri, "languageId": "text", "version": d.version, "text": d.text}})
	case d == nil:
	case verb == "shut":
		e.mu.Lock()
		delete(e.copies, uri)
		e.mu.Unlock()
		e.tell("textDocument/didClose", lspParams{TextDocument: &textDocument{URI: uri}})
	case verb == "edit", verb == "insert":
		c := change{Text: fmt.Sprintf("%s %d.%d\n", e.name, e.number, d.version+1)}
		if verb == "insert" {
			c.Range = &span{}
		}
		e.use(d, applied(d.text, []change{c}))
		e.tell("textDocument/didChange", lspParams{TextDocument: &textDocument{URI: uri, Version: d.version}, ContentChanges: []change{c}})
	}
	return true
}

// use gives a document of the editor a new text.
func (e *editor) use(d *copied, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	d.version++
	d.text, d.versions[d.version], d.used = text, text, time.Now()
}

// inquire makes a request of which the checker knows.
func (e *editor) inquire(uri string, d *copied, what string) {
	q := &inquiry{editor: e, what: what, method: command}
	if what == hover {
		e.mu.Lock()
		d.used, q.uri, q.text, q.method, q.of, q.version = time.Now(), uri, d.text, hover, d, d.version
		e.mu.Unlock()
	}
	e.t.check.inquires(q)
	in := lspParams{Command: what, Arguments: []int{q.number}, WorkDoneToken: json.RawMessage(fmt.Sprint(q.number % 3))}
	if what == hover {
		in = lspParams{TextDocument: &textDocument{URI: uri}, Position: &position{}, Inquiry: q.number}
	}
	e.request(q.method, encoded(in), q)
}

// request makes a request, for an inquiry unless that is nil, and returns its id.
func (e *editor) request(method string, params codec.Raw, q *inquiry) (id uint32) {
	e.inTurn(func() {
		e.next++
		id = e.next
		e.mu.Lock()
		if q != nil {
			e.open[id] = q
		} else {
			e.waits[id] = make(chan struct{})
		}
		e.mu.Unlock()
		e.write(&codec.Message{Kind: codec.Request, ID: id, Method: method, Params: params})
	})
	return id
}

func (e *editor) tell(method string, params any) {
	e.inTurn(func() { e.write(&codec.Message{Kind: codec.Notification, Method: method, Params: encoded(params)}) })
}

// inTurn runs f while nothing else is written.
func (e *editor) inTurn(f func()) {
	e.writing <- struct{}{}
	defer func() { <-e.writing }()
	f()
}

func (e *editor) write(m *codec.Message) {
	b, err := e.session.Append(nil, m)
	if err != nil {
		panic(err)
	}
	_, _ = e.conn.Write(b) // the hub may have closed it
}

// read takes in what the editor is told, until its connection ends.
func (e *editor) read() {
	for r := e.session.NewReader(e.conn); ; {
		var m codec.Message
		if err := r.Next(&m); err != nil {
			return
		}
		e.hear(&m)
	}
}

func (e *editor) hear(m *codec.Message) {
	check := e.t.check
	switch m.Kind {
	case codec.Response:
		e.mu.Lock()
		q, done := e.open[m.ID], e.waits[m.ID]
		delete(e.open, m.ID)
		delete(e.waits, m.ID)
		e.mu.Unlock()
		switch {
		case q != nil:
			var n int
			var err error
			if m.Err != nil {
				err = m.Err
			} else if err = json.Unmarshal(m.Result, &n); err != nil {
				check.wrong("%s: inquiry %d is answered with %s: %v", e.name, q.number, m.Result, err)
			}
			// The hub answers those that a life leaves in the order in which its goroutines go on.
			e.t.m.next(fmt.Sprintf("inquiry %d", q.number), func() { check.resolved(q, n, err) })
		case done != nil:
			check.noteOf("%s: request %d is answered: %v", e.name, m.ID, m.Err)
			close(done)
			if m.Err != nil { // it cannot be served
				_ = e.conn.Close()
			}
		default:
			check.wrong("%s: an answer to request %d, which is not open", e.name, m.ID)
		}
	case codec.Request:
		e.inTurn(func() { e.write(&codec.Message{Kind: codec.Response, ID: m.ID}) })
	case codec.Notification:
		e.told(m)
	}
}

// told takes in a notification.
func (e *editor) told(m *codec.Message) {
	switch m.Method {
	case "$/progress":
		var p struct {
			Token json.RawMessage `json:"token"`
			Value struct{ Kind, Title string }
		}
		if err := json.Unmarshal(m.Params, &p); err != nil {
			e.t.check.wrong("%s: progress %s: %v", e.name, m.Params, err)
			return
		}
		if own := strings.HasPrefix(string(p.Token), `"hostsup/`); own { // of the hub itself
			return
		}
		e.t.check.progresses(e, string(p.Token), p.Value.Kind, p.Value.Title)
	case "textDocument/publishDiagnostics":
		var f findings
		if err := json.Unmarshal(m.Params, &f); err != nil {
			e.t.check.wrong("%s: diagnostics %s: %v", e.name, m.Params, err)
			return
		}
		e.mu.Lock()
		d := e.copies[f.URI]
		e.mu.Unlock()
		if d != nil && len(f.Diagnostics) > 0 {
			e.t.check.diagnosed(e, f, d)
		}
	}
}
