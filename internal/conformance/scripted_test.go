package conformance

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"strings"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/sdk"
)

// scripted is a host that does what a rule of hostsup is about when it is called.
type scripted struct {
	conn io.ReadWriteCloser
	in   *bufio.Reader
	caps []string
}

// scripts are what the hosts do when their method kit/go is called, by rule. A script that
// returns has the host go on until the stream ends.
var scripts = map[string]func(h *scripted, id uint64){
	"V1": func(h *scripted, id uint64) { h.send(codec.Item, id, 0, "item") },
	"V2": func(h *scripted, id uint64) { h.send(codec.Item, id, 1, "item") },
	"V3": func(h *scripted, _ uint64) { h.send(codec.Response, 4242, nil, nil) },
	"V4": func(h *scripted, _ uint64) { h.send(codec.Ack, 4242) },
	"V5": func(h *scripted, _ uint64) { h.write(0, 0, 0, 0) },
	"V6": func(h *scripted, _ uint64) { h.write(lengthOf(maxFrame + 1)...) },
	"V7": func(h *scripted, _ uint64) { h.write(0, 0, 0, 1, 0xc1) },
	"V8": func(h *scripted, id uint64) {
		h.write(frame(append(pack(codec.Response, id, nil, nil)[header:], 0xc0))...)
	},
	"V9": func(h *scripted, id uint64) { h.send(7, id) },
	"V10": func(h *scripted, id uint64) {
		b := pack(codec.Response, id, nil, nil)
		h.write(frame(append(append(b[header:len(b)-1], bytes.Repeat([]byte{0x91}, 128)...), 0xc0))...)
	},
	"V11": func(h *scripted, _ uint64) {
		h.write(0, 0, 0, 9, 0x94)
		os.Exit(0)
	},
	"V12": func(h *scripted, id uint64) { h.send(codec.Ack, id) },
	"V13": func(h *scripted, id uint64) {
		h.send(codec.Response, id, nil, "first")
		h.send(codec.Response, id, nil, "second")
	},
	"V14": func(h *scripted, id uint64) {
		h.send(codec.Response, id, nil, "first")
		h.send(codec.Ack, id)
	},
	"V15": func(h *scripted, id uint64) {
		h.send(codec.Ack, id)
		h.until(func(m *message) bool { return m.kind == codec.Cancel && m.id == id })
		h.send(codec.Response, id, nil, "late")
	},
	"V18": func(h *scripted, id uint64) {
		for n := uint32(1); n <= 257; n++ {
			h.send(codec.Request, n, "kit/hold", nil)
		}
		m := h.until(func(m *message) bool { return m.kind == codec.Response })
		h.send(codec.Response, id, nil, []any{m.id, text(m.failure, "name")})
	},
	"V19": func(h *scripted, id uint64) {
		h.send(codec.Ack, id)
		m := h.until(func(m *message) bool { return m.kind == codec.Request && m.method == native.MethodPing })
		h.send(codec.Response, m.id, nil, nil)
		h.send(codec.Response, id, nil, m.payload == nil)
	},
	"V20": func(h *scripted, id uint64) {
		h.send(codec.Response, id, nil, nil)
		m := h.until(func(m *message) bool { return m.kind == codec.Request && m.method == native.MethodShutdown })
		h.send(codec.Response, m.id, "an error", nil)
		if _, err := readFrame(h.in); err == io.EOF {
			os.Exit(42)
		}
		os.Exit(1)
	},
	"V21": func(h *scripted, id uint64) { h.send(codec.Response, id, []any{7, "listed"}, nil) },
	"V22": func(h *scripted, id uint64) {
		credit := uint64(0)
		for i := range uint64(5000) {
			for credit <= i {
				credit += h.until(func(m *message) bool { return m.kind == codec.Credit && m.id == id }).credit
			}
			h.send(codec.Item, id, i, i)
		}
		h.send(codec.Response, id, nil, nil)
	},
}

// runScripted is a process that plays the script of a rule.
func runScripted(rule string) {
	conn, err := sdk.Open()
	if err != nil {
		os.Exit(1)
	}
	h := &scripted{conn: conn, in: bufio.NewReader(conn), caps: []string{"cancel", "stream", "ack"}}
	switch rule {
	case "V12":
		h.caps = nil
	case "V19":
		h.caps = append(h.caps, "ping")
	}
	version := native.Version
	m := h.until(func(m *message) bool { return m.method == native.MethodInitialize })
	switch rule {
	case "V16":
		h.send(codec.Notification, "early", nil)
	case "V17":
		version = 2
	}
	h.send(codec.Response, m.id, nil, map[string]any{"protocol": version, "capabilities": h.caps})
	for {
		m := h.until(func(m *message) bool { return m.kind == codec.Request })
		switch m.method {
		case "kit/go":
			scripts[rule](h, m.id)
		case native.MethodShutdown:
			h.send(codec.Response, m.id, nil, nil)
		default:
			h.send(codec.Response, m.id, nil, strings.ToUpper(m.method))
		}
	}
}

// until returns the next message that matches. The process ends with the stream.
func (h *scripted) until(match func(*message) bool) *message {
	for {
		body, err := readFrame(h.in)
		if err != nil {
			os.Exit(0)
		}
		m, b := parse(body)
		if b != nil {
			os.Exit(1)
		}
		if match(m) {
			return m
		}
	}
}

func (h *scripted) send(elements ...any) { h.write(pack(elements...)...) }

func (h *scripted) write(b ...byte) {
	if _, err := h.conn.Write(b); err != nil {
		os.Exit(0)
	}
}
