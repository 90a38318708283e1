//go:build linux

package conformance

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// verb does a step. What it returns is compared, unless it is nil.
type verb func(p *player, ctx context.Context, rest string) (any, error)

// verbs are the words that a step begins with.
var verbs map[string]verb

func init() {
	verbs = map[string]verb{
		// Messages: "call METHOD PARAMS" waits for the answer, "stuck" is a
		// call that the other server never answers, "ask NAME METHOD PARAMS"
		// and "answer NAME" are its halves, "wait NAME" does not look
		// at the answer; "order NAMES" waits for several
		// answers and tells which came first; "say TEXT" sends TEXT as it is and
		// waits for the next answer, "send TEXT" does not wait, "quote TEXT"
		// takes it in Go's quotes; "bytes TEXT" is like quote, in a binary
		// frame; "times N STEP" does a step N times, where $I counts.
		"call": call, "stuck": stuck, "ask": ask, "answer": answer, "wait": wait, "order": order, "say": say, "send": send,
		"quote": quote, "bytes": frame, "times": times,
		// Connections: "hello" initializes one, "resume" with the last session,
		// "connect NAME | HEADER: VALUE"
		// makes another, "use NAME" goes on with one, "end" ends it, "ended"
		// waits for its end, "pinged" for a ping of the server's; "term" sends the
		// server of this scenario alone a SIGTERM.
		"hello": hello, "resume": resume, "connect": connect, "use": use, "end": end, "ended": ended, "pinged": pinged,
		"term": term,
		// Processes: "start ID PARAMS -- SCRIPT" runs a shell's script;
		// "output ID TEXT" waits for it, "exited" and "closed" wait for the
		// notifications; "write ID TEXT", and "read ID PARAMS" with the chunks
		// joined; "kept ID PARAMS" is a read of a process that has put out more
		// than is kept.
		"start": start, "output": output, "exited": exited, "closed": closed, "write": write, "read": read, "kept": kept,
		// The rest: "stream ID" waits for the body of an http/request,
		// "appeared" for an fs/missingChanged; "http METHOD PATH | HEADER: VALUE"
		// is a plain request to the server, "upgrade PATH | …" one for a
		// WebSocket; "sh SCRIPT" runs here, in the scenario's folder.
		"stream": stream, "appeared": appeared, "http": plain, "upgrade": upgrade, "sh": sh,
	}
}

func call(p *player, ctx context.Context, rest string) (any, error) {
	method, params, _ := strings.Cut(rest, " ")
	m, err := p.call(ctx, method, params)
	if err != nil {
		return nil, err
	}
	p.noteSession(m)
	return p.compared(m), nil
}

// noteSession remembers the session of an answer to initialize.
func (p *player) noteSession(m *message) {
	var a struct{ Result struct{ SessionID string } }
	if json.Unmarshal(m.text, &a) == nil && a.Result.SessionID != "" {
		p.session = a.Result.SessionID
		p.masks = append(p.masks, p.session, "$SESSION")
	}
}

// compared is an answer without its id, unless the server chose it.
func (p *player) compared(m *message) any {
	v := decode(m.text)
	if o, ok := v.(map[string]any); ok && m.id() != "-1" {
		delete(o, "id")
		// A scenario of its own looks at what is in it.
		if r, ok := o["result"].(map[string]any); ok && r["environmentInfo"] != nil {
			r["environmentInfo"] = "info"
		}
	}
	return v
}

func stuck(p *player, ctx context.Context, rest string) (any, error) {
	if p.side.Strict {
		return call(p, ctx, rest)
	}
	short, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	v, err := call(p, short, rest)
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer", nil
	}
	return v, err
}

func ask(p *player, ctx context.Context, rest string) (any, error) {
	name, rest, _ := strings.Cut(rest, " ")
	method, params, _ := strings.Cut(rest, " ")
	l, err := p.link(ctx)
	if err != nil {
		return nil, err
	}
	p.asked[name], err = p.request(ctx, l, method, params)
	return nil, err
}

func answer(p *player, ctx context.Context, rest string) (any, error) {
	l, err := p.link(ctx)
	if err != nil {
		return nil, err
	}
	m, err := p.answer(ctx, l, p.asked[rest])
	if err != nil {
		return nil, err
	}
	p.noteSession(m)
	return p.compared(m), nil
}

func wait(p *player, ctx context.Context, rest string) (any, error) {
	_, err := answer(p, ctx, rest)
	return nil, err
}

func order(p *player, ctx context.Context, rest string) (any, error) {
	l, err := p.link(ctx)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, name := range strings.Fields(rest) {
		names[p.asked[name]] = name
	}
	came := []string{}
	for range names {
		m, err := l.box().take(ctx, func(m *message) bool { return m.Method == "" && names[m.id()] != "" })
		if err != nil {
			return nil, err
		}
		came = append(came, names[m.id()])
	}
	return came, nil
}

// times tells each result once, with how often it came.
func times(p *player, ctx context.Context, rest string) (any, error) {
	count, rest, _ := strings.Cut(rest, " ")
	name, rest, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(count)
	if err != nil || verbs[name] == nil {
		return nil, fmt.Errorf("times %s %s: no such count or verb", count, name)
	}
	came := map[string]int{}
	for i := range n {
		v, err := verbs[name](p, ctx, strings.ReplaceAll(rest, "$I", strconv.Itoa(i)))
		if err != nil {
			return nil, err
		}
		came[compact(v)]++
	}
	return came, nil
}

func say(p *player, ctx context.Context, rest string) (any, error) {
	return p.verbatim(ctx, []byte(rest), false)
}

func (p *player) verbatim(ctx context.Context, text []byte, binary bool) (any, error) {
	l, err := p.link(ctx)
	if err != nil {
		return nil, err
	}
	if err := l.send(ctx, text, binary); err != nil {
		return nil, err
	}
	m, err := l.box().take(ctx, func(m *message) bool { return m.Method == "" })
	if err != nil {
		return nil, err
	}
	p.noteSession(m)
	return decode(m.text), nil
}

func frame(p *player, ctx context.Context, rest string) (any, error) {
	return p.verbatim(ctx, []byte(unquoted(rest)), true)
}

func quote(p *player, ctx context.Context, rest string) (any, error) {
	return p.verbatim(ctx, []byte(unquoted(rest)), false)
}

func send(p *player, ctx context.Context, rest string) (any, error) {
	l, err := p.link(ctx)
	if err != nil {
		return nil, err
	}
	return nil, l.send(ctx, []byte(rest), false)
}

func hello(p *player, ctx context.Context, _ string) (any, error) {
	m, err := p.call(ctx, "initialize", `{"clientName":"conformance"}`)
	if err != nil {
		return nil, err
	}
	p.noteSession(m)
	return send(p, ctx, `{"method":"initialized","params":{}}`)
}

// resume asks again while the server has not noticed that the other connection
// is over.
func resume(p *player, ctx context.Context, _ string) (any, error) {
	for {
		m, err := p.call(ctx, "initialize", fmt.Sprintf(`{"clientName":"conformance","resumeSessionId":%q}`, p.session))
		if err != nil {
			return nil, err
		}
		var a struct{ Error struct{ Code int } }
		if taken := json.Unmarshal(m.text, &a) == nil && a.Error.Code == -32010; !taken {
			return p.compared(m), nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func connect(p *player, ctx context.Context, rest string) (any, error) {
	parts := strings.Split(rest, " | ")
	h := http.Header{}
	for _, part := range parts[1:] {
		name, value, _ := strings.Cut(part, ": ")
		h.Add(name, value)
	}
	p.cur = parts[0]
	return nil, p.connect(ctx, h)
}

func use(p *player, _ context.Context, rest string) (any, error) {
	if p.links[rest] == nil {
		return nil, fmt.Errorf("no connection %s", rest)
	}
	p.cur = rest
	return nil, nil
}

func end(p *player, ctx context.Context, rest string) (any, error) {
	l, err := p.link(ctx)
	if err != nil {
		return nil, err
	}
	l.hangUp()
	if p.on == WS {
		return nil, nil
	}
	return ended(p, ctx, rest)
}

func ended(p *player, ctx context.Context, _ string) (any, error) {
	l, err := p.link(ctx)
	if err != nil {
		return nil, err
	}
	b := l.box()
	if !p.side.Strict { // it may stay
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, silence)
		defer cancel()
	}
	err = b.wait(ctx, func() bool { return b.over != "" })
	if !p.side.Strict && errors.Is(err, context.DeadlineExceeded) {
		return "still there", nil
	}
	return b.over, err
}

func term(p *player, _ context.Context, _ string) (any, error) {
	if pipes, ok := p.links[p.cur].conn.(*pipes); ok {
		return nil, pipes.cmd.Process.Signal(syscall.SIGTERM)
	}
	if len(p.sc.Flags) == 0 {
		return nil, errors.New("other scenarios use this server: one with flags has its own")
	}
	return nil, p.server.cmd.Process.Signal(syscall.SIGTERM)
}

func pinged(p *player, ctx context.Context, _ string) (any, error) {
	l, err := p.link(ctx)
	if err != nil {
		return nil, err
	}
	b := l.box()
	return "pinged", b.wait(ctx, func() bool { return b.pings > 0 })
}

func appeared(p *player, ctx context.Context, _ string) (any, error) {
	l, err := p.link(ctx)
	if err != nil {
		return nil, err
	}
	m, err := l.box().take(ctx, func(m *message) bool { return m.Method == "fs/missingChanged" })
	if err != nil {
		return nil, err
	}
	return decode(m.text), nil
}

func plain(p *player, ctx context.Context, rest string) (any, error) {
	parts := strings.Split(rest, " | ")
	method, path, _ := strings.Cut(parts[0], " ")
	return get(ctx, p.server.url, method, path, parts[1:])
}

func upgrade(p *player, ctx context.Context, rest string) (any, error) {
	parts := strings.Split(rest, " | ")
	return get(ctx, p.server.url, http.MethodGet, parts[0], append(parts[1:],
		"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="))
}

func sh(p *player, ctx context.Context, rest string) (any, error) {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", rest)
	cmd.Dir = p.dir
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return fmt.Sprintf("%s%v", out, err), nil
	}
	return string(out), nil
}

// unquoted is a text that may be written in Go's quotes.
func unquoted(s string) string {
	if u, err := strconv.Unquote(s); err == nil {
		return u
	}
	return s
}

// object is a JSON text of defaults and what is said beside them.
func object(defaults map[string]any, more string) (string, error) {
	if more != "" {
		var m map[string]any
		if err := json.Unmarshal([]byte(more), &m); err != nil {
			return "", fmt.Errorf("%s: %w", more, err)
		}
		maps.Copy(defaults, m)
	}
	b, err := json.Marshal(defaults)
	return string(b), err
}

func start(p *player, ctx context.Context, rest string) (any, error) {
	what, script, _ := strings.Cut(rest, " -- ")
	id, more, _ := strings.Cut(what, " ")
	params, err := object(map[string]any{
		"processId": id, "argv": []string{"/bin/sh", "-c", script}, "cwd": "file://" + p.dir,
		"env": map[string]string{"PATH": "/usr/bin:/bin"}, "tty": false,
	}, more)
	if err != nil {
		return nil, err
	}
	m, err := p.call(ctx, "process/start", params)
	if err != nil {
		return nil, err
	}
	return p.compared(m), nil
}

func write(p *player, ctx context.Context, rest string) (any, error) {
	id, text, _ := strings.Cut(rest, " ")
	p.writes++
	params, err := object(map[string]any{
		"processId": id, "chunk": base64.StdEncoding.EncodeToString([]byte(unquoted(text))), "writeId": strconv.Itoa(p.writes),
	}, "")
	if err != nil {
		return nil, err
	}
	return call(p, ctx, "process/write "+params)
}
