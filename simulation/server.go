package simulation

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/sandbox"
)

// Requests of attached programs. A hover is about a document; the others are commands, which the
// simulated server knows by the names that programs of other hosts have for them.
const (
	hover    = "textDocument/hover"
	command  = "workspace/executeCommand"
	progress = "progress" // is answered after progress was told
)

// textDocument is what messages say of a document.
type textDocument struct {
	URI     string `json:"uri"`
	Version int    `json:"version,omitempty"`
	Text    string `json:"text,omitempty"`
}

// change is one of a document: Text in place of Range, which is empty at the beginning of the
// document, or of all.
type change struct {
	Range *span  `json:"range,omitempty"`
	Text  string `json:"text"`
}

type span struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// lspParams are those of all messages that a simulation has.
type lspParams struct {
	TextDocument   *textDocument   `json:"textDocument,omitempty"`
	ContentChanges []change        `json:"contentChanges,omitempty"`
	Position       *position       `json:"position,omitempty"`
	Command        string          `json:"command,omitempty"`
	Arguments      []int           `json:"arguments,omitempty"` // of a command: the number of the inquiry
	WorkDoneToken  json.RawMessage `json:"workDoneToken,omitempty"`
	Inquiry        int             `json:"inquiry,omitempty"` // of a hover
}

// applied returns a text with changes.
func applied(text string, changes []change) string {
	for _, c := range changes {
		if c.Range == nil {
			text = ""
		}
		text = c.Text + text
	}
	return text
}

// encoded returns the JSON of a value that has one.
func encoded(v any) codec.Raw {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// server is a process that speaks the Language Server Protocol.
type server struct {
	p       *process
	session codec.Session
	writing chan struct{}

	mu    sync.Mutex              // what is read is written by the goroutine that reads alone
	texts map[string]textDocument // by URI
}

// serve is the program of a language server.
func (p *process) serve() {
	s := &server{p: p, session: jsonrpc.Headers(jsonrpc.Options{}).Open(codec.Limits{}), writing: make(chan struct{}, 1), texts: make(map[string]textDocument)}
	for r := s.session.NewReader(p.conn); ; {
		var m codec.Message
		if err := r.Next(&m); err != nil {
			p.exit(sandbox.Exit{})
			return
		}
		if !p.runs() || !s.hear(&m) {
			return
		}
	}
}

// say writes a message.
func (s *server) say(m *codec.Message) {
	s.writing <- struct{}{}
	defer func() { <-s.writing }()
	b, err := s.session.Append(nil, m)
	if err != nil {
		panic(err)
	}
	_, _ = s.p.conn.Write(b) // the supervisor may have closed it
}

// hear does what a message asks for, and reports whether the process goes on.
func (s *server) hear(m *codec.Message) bool {
	p, check := s.p, s.p.m.check
	var in lspParams
	if len(m.Params) > 0 && m.Method != "initialize" {
		if err := json.Unmarshal(m.Params, &in); err != nil {
			check.wrong("%s, life %d: %s: %v", p.host, p.life, m.Method, err)
		}
	}
	switch m.Method {
	case "initialize":
		return s.greet(m)
	case "initialized":
		check.greeted(p.host)
	case "shutdown":
		check.disturbed(p.host, p.life)
		if !p.do.deaf {
			s.say(&codec.Message{Kind: codec.Response, ID: m.ID})
		}
	case "exit":
		if !p.do.deaf {
			p.exit(sandbox.Exit{})
			return false
		}
	case "textDocument/didOpen", "textDocument/didChange", "textDocument/didClose":
		s.follow(m.Method, in)
	case hover:
		return s.answer(m, in.Inquiry, echo, in)
	case command:
		if len(in.Arguments) != 1 {
			check.wrong("%s, life %d: a command with %v", p.host, p.life, in.Arguments)
			return true
		}
		return s.answer(m, in.Arguments[0], in.Command, in)
	default:
		if m.Kind == codec.Request {
			s.say(&codec.Message{Kind: codec.Response, ID: m.ID, Err: &codec.Error{Name: codec.NameMethodNotFound, Message: m.Method}})
		}
	}
	return true
}

// greet answers initialize.
func (s *server) greet(m *codec.Message) bool {
	p := s.p
	switch {
	case p.do.leaves:
		p.exit(sandbox.Exit{Code: 5})
		return false
	case p.do.mute:
		return true
	case p.do.dawdles:
		select {
		case <-time.After(3 * time.Second):
		case <-p.dead:
		}
		if !p.runs() {
			return false
		}
	}
	s.say(&codec.Message{Kind: codec.Response, ID: m.ID, Result: codec.Raw(`{"capabilities":{"textDocumentSync":2,"hoverProvider":true}}`)})
	return true
}

// follow takes in what the server is told of documents, and publishes what it finds in them.
func (s *server) follow(method string, in lspParams) {
	p, check := s.p, s.p.m.check
	d := *in.TextDocument
	have, open := s.texts[d.URI]
	switch {
	case open == (method == "textDocument/didOpen"):
		check.wrong("%s, life %d: %s of %s; it is open: %v", p.host, p.life, method, d.URI, open)
	case method == "textDocument/didClose":
		s.mu.Lock()
		delete(s.texts, d.URI)
		s.mu.Unlock()
		check.shows(p, d.URI, nil)
		return
	case open && d.Version <= have.Version:
		check.wrong("%s, life %d: version %d of %s follows version %d", p.host, p.life, d.Version, d.URI, have.Version)
	case open:
		d.Text = applied(have.Text, in.ContentChanges)
	}
	s.set(d)
	check.shows(p, d.URI, &d.Text)
	p.m.AfterFunc(p.dice.within(5*time.Millisecond), func() {
		if p.runs() && s.has(d) {
			s.say(&codec.Message{Kind: codec.Notification, Method: "textDocument/publishDiagnostics", Params: encoded(finding(d))})
		}
	})
}

func (s *server) set(d textDocument) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts[d.URI] = d
}

// has reports whether the server still has a text.
func (s *server) has(d textDocument) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.texts[d.URI] == d
}

// findings are the diagnostics of a document.
type findings struct {
	URI         string `json:"uri"`
	Version     int    `json:"version,omitempty"`
	Diagnostics []struct {
		Range   span   `json:"range"`
		Message string `json:"message"`
	} `json:"diagnostics"`
}

// finding is the one that a simulated server has: it quotes the first line.
func finding(d textDocument) findings {
	f := findings{URI: d.URI, Version: d.Version}
	f.Diagnostics = append(f.Diagnostics, struct {
		Range   span   `json:"range"`
		Message string `json:"message"`
	}{Message: firstLine(d.Text)})
	return f
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// answer does what an inquiry asks for, and reports whether the process goes on.
func (s *server) answer(m *codec.Message, inquiry int, what string, in lspParams) bool {
	p := s.p
	var text *string
	if in.TextDocument != nil {
		d := s.texts[in.TextDocument.URI]
		text = &d.Text
	}
	p.m.check.inquired(p, inquiry, m.Method, text)
	answer := codec.Message{Kind: codec.Response, ID: m.ID, Result: encoded(inquiry)}
	switch what {
	case crash:
		p.exit(sandbox.Exit{Code: 3})
		return false
	case hang:
		p.freeze(true)
		return p.runs()
	case silent:
		return true
	case progress:
		for _, kind := range []string{"begin", "end"} {
			s.say(&codec.Message{Kind: codec.Notification, Method: "$/progress", Params: encoded(map[string]any{
				"token": in.WorkDoneToken, "value": map[string]any{"kind": kind, "title": fmt.Sprint(inquiry)},
			})})
		}
	}
	p.m.AfterFunc(p.dice.within(p.do.think), func() {
		if p.runs() {
			s.say(&answer)
		}
	})
	return true
}
