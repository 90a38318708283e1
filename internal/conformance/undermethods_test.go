package conformance

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
)

// wrongError is an error in an answer.
func wrongError(name, message string) any {
	return map[string]any{"name": name, "message": message}
}

// request begins to work on a request of the kit.
func (h *underHost) request(m *message) {
	if h.deaf {
		h.deaf = false
		return
	}
	j := &job{id: m.id, method: m.method, unheard: h.wrong == "X3" && h.in.Buffered() > 0}
	j.ctx, j.cancel = context.WithCancel(context.Background())
	h.mu.Lock()
	h.jobs[m.id] = j
	if m.method == count {
		h.latest = j
	}
	refused := h.shutdown && h.wrong != "G6"
	h.mu.Unlock()
	switch {
	case m.method == native.MethodInitialize:
		h.initialize(j, m.payload)
	case refused:
		h.answer(j, wrongError(codec.NameShuttingDown, "the host ends"), nil)
	case m.method == native.MethodPing:
		h.ping(j)
	case m.method == native.MethodShutdown:
		h.mu.Lock()
		h.shutdown = true
		h.mu.Unlock()
		if h.wrong != "G1" {
			go h.drain(j)
		}
	case h.work(j) == nil:
		name := codec.NameMethodNotFound
		if h.wrong == "A7" {
			name = "Error"
		}
		h.answer(j, wrongError(name, m.method), nil)
	case h.wrong == "A2" && m.method == wait, h.wrong == "S7" && m.method == count, h.wrong == "A3" && field(m.payload, "sync") == true:
		h.work(j)(j, m) // and the loop waits
	default:
		if !(h.wrong == "A4" && m.method == block) {
			h.ack(j)
		}
		go h.work(j)(j, m)
	}
}

func (h *underHost) ping(j *job) {
	h.mu.Lock()
	busy := len(h.jobs) - 2
	for _, other := range h.jobs {
		if other.over && other.method != native.MethodInitialize {
			busy--
		}
	}
	h.mu.Unlock()
	switch {
	case h.wrong == "A6" && busy > 0:
	case h.wrong == "A5":
		h.answer(j, nil, "pong")
	default:
		h.answer(j, nil, nil)
	}
}

func (h *underHost) ack(j *job) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id := j.id
	if h.wrong == "I3" {
		id += 1000
	}
	if h.force["ack"] || h.wrong == "C1" && len(h.force) > 0 || h.wrong == "C5" && len(h.force) == 0 {
		h.write(codec.Ack, id)
	}
}

// initialize answers initialize.
func (h *underHost) initialize(j *job, params any) {
	h.mu.Lock()
	named, _ := field(params, "capabilities").([]any)
	for _, c := range named {
		known := strings.Contains(" ack cancel stream trace ping extensions ", " "+c.(string)+" ")
		h.force[c.(string)] = known
		if !known {
			h.exitIf("O4")
		}
	}
	version, _ := number(field(params, "protocol"), 1<<32-1)
	out := map[string]any{"protocol": 1, "name": "by-hand", "version": "1", "capabilities": []string{"ack", "cancel", "stream", "trace", "ping", "extensions"}}
	if h.force["extensions"] {
		out["extensions"] = []any{
			map[string]any{"id": unit, "version": "1.0", "events": []string{"onCommand:conformance/unit"}, "methods": []string{"conformance/unit"}},
			map[string]any{"id": broken},
		}
	}
	switch h.wrong {
	case "O1":
		delete(out, "protocol")
	case "O2":
		h.write(codec.Notification, "early", nil)
	case "O3":
		out["capabilities"] = "ack"
	case "U1":
		out["extensions"] = "conformance.unit"
	}
	h.mu.Unlock()
	switch {
	case version != native.Version && h.wrong == "O5":
		h.answer(j, wrongError("Error", "what is this"), nil)
	case version != native.Version:
		h.answer(j, wrongError(native.NameVersion, "version 1 only"), nil)
	default:
		h.answer(j, nil, out)
	}
	h.opened = true
}

// drain ends the work under way and answers shutdown.
func (h *underHost) drain(bye *job) {
	h.mu.Lock()
	for _, j := range h.jobs {
		if !j.over && j.method != block && j != bye && h.wrong != "G5" {
			j.cancel()
		}
	}
	for h.wrong != "G4" && h.wrong != "G5" && h.busy(bye) {
		h.changed.Wait()
	}
	h.mu.Unlock()
	h.answer(bye, nil, nil)
}

func (h *underHost) busy(but *job) bool {
	for _, j := range h.jobs {
		if !j.over && j != but {
			return true
		}
	}
	return false
}

// answer answers a request.
func (h *underHost) answer(j *job, failure, result any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if j.over = true; h.wrong == "E1" && failure != nil {
		result = 1
	}
	h.write(codec.Response, j.id, failure, result)
	if h.opened && h.wrong == "A1" {
		h.write(codec.Response, j.id, failure, result)
	}
	if h.opened && h.wrong == "I5" {
		h.write(codec.Response, j.id+1000, failure, result)
	}
	h.changed.Broadcast()
}

// stopped answers a request that was cancelled, or is open when the host ends.
func (h *underHost) stopped(j *job) {
	name := cancelled
	switch h.wrong {
	case "X1":
		return
	case "X2":
		name = "Aborted"
	}
	h.answer(j, wrongError(name, "cancelled"), nil)
}

// until waits until f is true, or false for a job that is cancelled. The caller must hold mu.
func (h *underHost) until(j *job, f func() bool) bool {
	defer context.AfterFunc(j.ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.changed.Broadcast()
	})()
	for j.ctx.Err() == nil {
		if f() {
			return true
		}
		h.changed.Wait()
	}
	return false
}

// work returns what answers a method, nil if there is nothing.
func (h *underHost) work(j *job) func(*job, *message) {
	return map[string]func(*job, *message){
		echo: h.echo, block: h.block, wait: h.wait, release: h.release, count: h.count, call: h.call, collect: h.call, notify: h.notify, notes: h.list,
		"conformance/fail": h.fail, "conformance/throw": h.throw, "conformance/trace": h.trace, "conformance/print": h.print,
		"conformance/unit": h.unit, native.MethodActivate: h.activate, native.MethodDeactivate: h.deactivate,
	}[j.method]
}

func (h *underHost) echo(j *job, m *message) {
	v := m.payload
	switch b, isBin := v.([]byte); {
	case isBin && h.wrong == "F7":
		v = string(b)
	case len(b) > 1<<20:
		h.exitIf("F8")
	case strings.HasPrefix(m.text, "[0,2,\"conformance/echo\",[[[["):
		h.exitIf("F20")
	}
	h.answer(j, nil, v)
}

func (h *underHost) block(j *job, m *message) {
	ms, _ := number(field(m.payload, "ms"), 1<<20)
	<-time.After(time.Duration(ms) * time.Millisecond)
	h.answer(j, nil, nil)
}

func (h *underHost) wait(j *job, _ *message) {
	h.mu.Lock()
	before := h.freed
	h.waiting++
	ok := h.until(j, func() bool { return h.freed > before })
	if !ok {
		h.waiting--
	}
	h.mu.Unlock()
	if ok {
		h.answer(j, nil, "released")
	} else {
		h.stopped(j)
	}
}

func (h *underHost) release(j *job, _ *message) {
	h.mu.Lock()
	n := h.waiting
	h.freed, h.waiting = h.freed+1, 0
	h.changed.Broadcast()
	h.mu.Unlock()
	h.answer(j, nil, n)
}

// count streams.
func (h *underHost) count(j *job, m *message) {
	n, _ := number(field(m.payload, "n"), 1<<20)
	if h.wrong == "S6" {
		<-time.After(quiet / 4) // the credit comes directly after the request
	}
	h.mu.Lock()
	if !h.force["stream"] && h.wrong != "C3" || h.wrong == "S6" && j.credit == 0 {
		h.mu.Unlock()
		h.answer(j, wrongError("NoCredit", "credit is missing"), nil)
		return
	}
	ok := true
	for i := uint64(0); i < n && ok; i++ {
		if ok = h.until(j, func() bool { return j.sent < j.credit || h.wrong == "S1" || h.wrong == "C3" }); ok {
			seq, v := j.sent, i
			if h.wrong == "S3" {
				seq++
			}
			if h.wrong == "S9" && i > 5000 {
				v++
			}
			h.write(codec.Item, j.id, seq, v)
			j.sent++
		}
	}
	if ok && (field(m.payload, "wait") == true || h.wrong == "S4") {
		ok = h.until(j, func() bool { return false })
	}
	h.mu.Unlock()
	if !ok {
		h.stopped(j)
		return
	}
	h.answer(j, nil, nil)
	if h.wrong == "S5" {
		h.mu.Lock()
		h.write(codec.Item, j.id, j.sent, "more")
		h.mu.Unlock()
	}
}

// ask makes an own request. The caller must hold mu.
func (h *underHost) ask(m *message, items bool) *ask {
	if h.wrong != "I2" || h.lastID == 0 {
		h.lastID++
	}
	a := &ask{id: uint64(h.lastID), list: []any{}}
	if h.wrong == "I1" {
		a.id = 0
	}
	h.asks[a.id] = a
	elements := []any{codec.Request, a.id, text(m.payload, "method"), field(m.payload, "params")}
	switch {
	case h.wrong == "C4" && !h.force["trace"]:
		elements = append(elements, traced)
	case h.wrong == "T2" && m.traced:
		elements = append(elements, parent)
	}
	h.write(elements...)
	if items && h.force["stream"] && h.wrong != "S12" {
		h.allowMore(a, 10)
	}
	if items && h.wrong == "C3" && !h.force["stream"] {
		h.allowMore(a, 10)
	}
	return a
}

func (h *underHost) allowMore(a *ask, n uint64) {
	a.credit += n
	id := a.id
	if h.wrong == "I4" {
		id += 1000
	}
	h.write(codec.Credit, id, n)
}

// call makes a request, and answers with the answer or the items.
func (h *underHost) call(j *job, m *message) {
	most, _ := number(field(m.payload, "max"), 1<<20)
	items := j.method == collect
	h.mu.Lock()
	a := h.ask(m, items)
	enough := false
	ok := h.until(j, func() bool {
		if enough = items && most > 0 && a.items >= most; a.over || enough {
			return true
		}
		if items && a.items == a.credit && a.items > 0 && h.wrong != "S13" {
			h.allowMore(a, 10)
		}
		return false
	})
	if (!ok && h.wrong != "X5" || enough && h.wrong != "S16") && !a.over {
		if h.force["cancel"] || h.wrong == "C2" {
			h.write(codec.Cancel, a.id)
		}
		a.left = true
	}
	failure, list, result := a.failure, a.list, a.result // the answer to a cancel may still come
	h.mu.Unlock()
	switch {
	case !ok:
		h.stopped(j)
	case failure != nil:
		h.answer(j, failure, nil)
	case items:
		h.answer(j, nil, list)
	default:
		h.answer(j, nil, result)
	}
}

func (h *underHost) notify(j *job, m *message) {
	h.mu.Lock()
	if h.wrong != "A12" {
		h.write(codec.Notification, text(m.payload, "method"), field(m.payload, "params"))
	}
	h.mu.Unlock()
	h.answer(j, nil, nil)
}

func (h *underHost) list(j *job, m *message) {
	n, _ := number(field(m.payload, "n"), 1<<20)
	h.mu.Lock()
	h.until(j, func() bool { return uint64(len(h.notes)) >= n })
	all := h.notes
	h.mu.Unlock()
	h.answer(j, nil, all)
}

func (h *underHost) fail(j *job, m *message) {
	e := map[string]any{}
	for _, key := range []string{"name", "message", "code", "data"} {
		if h.wrong != "E3" || key != "data" {
			e[key] = field(m.payload, key)
		}
	}
	h.answer(j, e, nil)
}

func (h *underHost) throw(j *job, m *message) {
	e := wrongError("Error", text(m.payload, "message"))
	if h.wrong == "E2" {
		e = map[string]any{"code": 1}
	}
	h.answer(j, e, nil)
}

func (h *underHost) trace(j *job, m *message) {
	if h.wrong == "T3" {
		m.trace = nil
	}
	h.answer(j, nil, m.trace)
}

func (h *underHost) print(j *job, m *message) {
	line := text(m.payload, "text") + "\n"
	if h.wrong == "P2" || h.wrong == "P4" {
		h.mu.Lock()
		if _, err := h.conn.Write([]byte(line)); err != nil {
			os.Exit(1)
		}
		h.mu.Unlock()
	}
	if _, err := os.Stdout.WriteString(line); err != nil {
		os.Exit(1)
	}
	h.answer(j, nil, nil)
}

func (h *underHost) unit(j *job, _ *message) {
	h.mu.Lock()
	active := h.active[unit]
	h.mu.Unlock()
	if !active && h.wrong != "U5" {
		h.answer(j, wrongError(codec.NameNotActive, "it is not active"), nil)
		return
	}
	h.answer(j, nil, "active")
}

func (h *underHost) activate(j *job, m *message) {
	id := text(m.payload, "id")
	h.mu.Lock()
	h.active[id] = true
	h.mu.Unlock()
	switch {
	case h.wrong == "U2":
		h.answer(j, nil, nil)
	case id == broken && h.wrong != "U3":
		h.answer(j, wrongError("Broken", "it fails"), nil)
	default:
		h.answer(j, nil, map[string]any{"took_ms": 1})
	}
}

func (h *underHost) deactivate(j *job, _ *message) {
	var result any
	if h.wrong == "U4" {
		result = true
	}
	h.answer(j, nil, result)
}
