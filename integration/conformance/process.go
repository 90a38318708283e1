//go:build linux

package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// event is a notification about a process.
type event struct {
	method string
	at     int // among all messages of its connection
	params map[string]any
	head   struct {
		ProcessID string
		Seq       uint64
		Stream    string
		Chunk     []byte
	}
}

// event is the message as one, if it is.
func (m *message) event() (e *event, ok bool) {
	if !strings.HasPrefix(m.Method, "process/") {
		return nil, false
	}
	e = &event{method: m.Method}
	return e, json.Unmarshal(m.Params, &e.head) == nil && json.Unmarshal(m.Params, &e.params) == nil
}

// inOrder puts an event where it belongs, which is near the end.
func inOrder(all []*event, e *event) []*event {
	i := len(all)
	for i > 0 && all[i-1].head.Seq > e.head.Seq {
		i--
	}
	return slices.Insert(all, i, e)
}

// events are those of a process so far, in the order of their seq. It is
// called with the inbox's lock held, and what it returns is good as long.
func (b *inbox) events(id string) []*event { return b.procs[id] }

// joined is what a process has put out, by stream: as far as nothing is missing.
func joined(all []*event) map[string]string {
	text := map[string][]byte{}
	for i, e := range all {
		if e.head.Seq != uint64(i)+all[0].head.Seq {
			break
		}
		if e.method == "process/output" {
			text[e.head.Stream] = append(text[e.head.Stream], e.head.Chunk...)
		}
	}
	out := map[string]string{}
	for stream, b := range text {
		out[stream] = string(b)
	}
	return out
}

// numbers are numbers with the blanks before them, and blanks of columns whose
// width depends on how large numbers may be.
var (
	numbers = regexp.MustCompile(`[ \t]*\d+`)
	columns = regexp.MustCompile(`[ \t]{2,}`)
)

// comparable is what a process has put out, without its numbers if it is to be.
func (p *player) comparable(out map[string]string) map[string]string {
	if p.sc.Numbers {
		for stream, s := range out {
			out[stream] = columns.ReplaceAllString(numbers.ReplaceAllString(s, " N"), " ")
		}
	}
	return out
}

func output(p *player, ctx context.Context, rest string) (any, error) {
	id, text, _ := strings.Cut(rest, " ")
	text = unquoted(text)
	l, err := p.link(ctx)
	if err != nil {
		return nil, err
	}
	b := l.box()
	return nil, b.wait(ctx, func() bool {
		for _, s := range joined(b.events(id)) {
			if strings.Contains(s, text) {
				return true
			}
		}
		return false
	})
}

// find is the event of a method.
func find(all []*event, method string) *event {
	if i := slices.IndexFunc(all, func(e *event) bool { return e.method == method }); i >= 0 {
		return all[i]
	}
	return nil
}

// members are the params of an event without its seq, which tells how output
// was cut.
func members(e *event) any {
	if e == nil {
		return "none"
	}
	delete(e.params, "seq")
	return e.params
}

func exited(p *player, ctx context.Context, id string) (any, error) {
	l, err := p.link(ctx)
	if err != nil {
		return nil, err
	}
	b := l.box()
	var e *event
	err = b.wait(ctx, func() bool { e = find(b.events(id), "process/exited"); return e != nil })
	if err != nil {
		return nil, err
	}
	return members(e), nil
}

// closed waits for the last event of a process, and for all before it if the
// process was started on this connection.
func closed(p *player, ctx context.Context, id string) (any, error) {
	l, err := p.link(ctx)
	if err != nil {
		return nil, err
	}
	b := l.box()
	var all []*event
	err = b.wait(ctx, func() bool {
		now := b.events(id)
		if len(now) == 0 || now[len(now)-1].method != "process/closed" {
			return false
		}
		first, last := now[0].head.Seq, now[len(now)-1].head.Seq
		if first != 1 && p.cur == "1" || last-first+1 != uint64(len(now)) {
			return false
		}
		all = slices.Clone(now)
		return true
	})
	if err != nil {
		return nil, err
	}
	if p.side.Strict && !slices.IsSortedFunc(all, func(a, b *event) int { return a.at - b.at }) {
		return nil, fmt.Errorf("notifications of %s came out of order", id)
	}
	shape := map[string]bool{}
	for _, e := range all {
		if e.method == "process/output" {
			for name := range e.params {
				shape[name] = true
			}
		}
	}
	v := map[string]any{
		"output": p.comparable(joined(all)), "exited": members(find(all, "process/exited")), "closed": members(find(all, "process/closed")),
		"last": all[len(all)-1].method,
	}
	if len(shape) > 0 {
		v["outputHas"] = shape
	}
	if p.cur != "1" { // how much came before this connection is a matter of chance
		delete(v, "output")
		delete(v, "outputHas")
	}
	return v, nil
}

func read(p *player, ctx context.Context, rest string) (any, error) {
	id, more, _ := strings.Cut(rest, " ")
	params, err := object(map[string]any{"processId": id}, more)
	if err != nil {
		return nil, err
	}
	m, err := p.call(ctx, "process/read", params)
	if err != nil {
		return nil, err
	}
	v := p.compared(m)
	r, ok := v.(map[string]any)["result"].(map[string]any)
	if !ok {
		return v, nil
	}
	var chunks struct {
		Result struct {
			Chunks []struct {
				Stream string
				Chunk  []byte
			}
		}
	}
	if err := json.Unmarshal(m.text, &chunks); err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, c := range chunks.Result.Chunks {
		out[c.Stream] += string(c.Chunk)
	}
	delete(r, "nextSeq") // how many chunks there were is not compared
	r["chunks"] = p.comparable(out)
	return v, nil
}

// kept compares how much of a process's output is kept, not to the byte: whole
// chunks are, and they are as the pipe gave them.
func kept(p *player, ctx context.Context, rest string) (any, error) {
	v, err := read(p, ctx, rest)
	if err != nil {
		return nil, err
	}
	r, ok := v.(map[string]any)["result"].(map[string]any)
	if !ok {
		return v, nil
	}
	const limit, chunk = 1 << 20, 8 << 10
	about := map[string]any{}
	for stream, s := range r["chunks"].(map[string]string) {
		about[stream] = map[string]bool{"within the limit": len(s) <= limit, "near the limit": len(s) > limit-chunk}
	}
	r["chunks"] = about
	if lost, ok := r["lost"].(map[string]any); ok {
		for name := range lost {
			lost[name] = "some"
		}
	}
	return v, nil
}

func stream(p *player, ctx context.Context, id string) (any, error) {
	l, err := p.link(ctx)
	if err != nil {
		return nil, err
	}
	b := l.box()
	var body strings.Builder
	shape, next := map[string]bool{}, uint64(1)
	for {
		m, err := b.take(ctx, func(m *message) bool {
			var d struct{ RequestID string }
			return m.Method == "http/request/bodyDelta" && json.Unmarshal(m.Params, &d) == nil && d.RequestID == id
		})
		if err != nil {
			return nil, err
		}
		var d struct {
			Seq         uint64
			DeltaBase64 []byte
			Done        bool
			Error       any
		}
		var all map[string]any
		if err := json.Unmarshal(m.Params, &d); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(m.Params, &all); err != nil {
			return nil, err
		}
		if d.Seq != next {
			return nil, fmt.Errorf("delta %d of %s, want %d", d.Seq, id, next)
		}
		next++
		for name := range all {
			shape[name] = true
		}
		body.Write(d.DeltaBase64)
		if d.Done {
			return map[string]any{"body": body.String(), "error": d.Error, "deltaHas": shape, "lastDelta": string(d.DeltaBase64)}, nil
		}
	}
}
