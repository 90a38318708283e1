package fetch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/execserver/wire"
)

type exchange struct {
	Source string             `json:"source"`
	Params json.RawMessage    `json:"params"`
	Result *wire.HTTPResponse `json:"result"`
	Error  *wire.Error        `json:"error"`
	Deltas []struct {
		Delta []byte  `json:"deltaBase64"`
		Done  bool    `json:"done"`
		Error *string `json:"error"`
	} `json:"deltas"`
}

const recordedPort = "36983"

func recorded(t *testing.T, port string) []exchange {
	t.Helper()
	all, err := os.ReadFile("testdata/http.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var out []exchange
	lines := bufio.NewScanner(bytes.NewReader(all))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		text := lines.Text()
		var e exchange
		clipped := strings.Contains(text, "…[")
		if i := strings.Index(text, "…["); i > 0 { // a long body was clipped when it was recorded
			text = text[:i-i%4+0] + text[strings.Index(text, " chars]")+len(" chars]"):]
			text = strings.Replace(text, `"bodyBase64":"`, `"clipped":"`, 1)
		}
		text = strings.ReplaceAll(text, "127.0.0.1:"+recordedPort, "127.0.0.1:"+port)
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if e.Source != "" {
			continue
		}
		if clipped {
			e.Result.Body = bytes.Repeat([]byte("z"), 3<<20)
		}
		out = append(out, e)
	}
	return out
}

// oldServer is the server that was asked when the exchanges were recorded.
func oldServer(w net.Conn, q *seen) {
	const tail = "date: D\r\nconnection: keep-alive\r\nkeep-alive: timeout=5\r\ntransfer-encoding: chunked\r\n\r\n"
	start := func(status int, head string) { fmt.Fprintf(w, "HTTP/1.1 %d X\r\n%s%s", status, head, tail) }
	chunk := func(s string) { fmt.Fprintf(w, "%x\r\n%s\r\n", len(s), s) }
	end := func() { fmt.Fprint(w, "0\r\n\r\n") }
	switch q.path {
	case "/redir":
		start(302, "location: /hello\r\n")
		chunk("moved")
		end()
	case "/slow":
		_, _ = w.Read(make([]byte, 1)) // until the client leaves
	case "/stream":
		start(200, "content-type: text/plain\r\n")
		for i := range 3 {
			chunk(fmt.Sprintf("part%d", i))
		}
		end()
	case "/big":
		start(200, "")
		for range 48 {
			chunk(strings.Repeat("z", 64<<10))
		}
		end()
	case "/abort":
		start(200, "")
		chunk("half")
	default:
		status := 200
		if q.path == "/404" {
			status = 404
		}
		start(status, "x-a: 1\r\nx-a: 2\r\ncontent-type: text/plain\r\n")
		var names []string
		values := map[string]string{}
		for _, h := range q.headers {
			if v, ok := values[h.name]; ok {
				values[h.name] = v + ", " + h.value
				continue
			}
			names = append(names, h.name)
			values[h.name] = h.value
		}
		for i, n := range names {
			names[i] = fmt.Sprintf("%q:%q", n, values[n])
		}
		chunk(q.method + " " + q.path + " {" + strings.Join(names, ",") + "} body=" + q.body)
		end()
	}
}

// TestRecorded plays what a client asked a real server.
func TestRecorded(t *testing.T) {
	address := serve(t, oldServer)
	_, port, _ := net.SplitHostPort(address)
	c := client(t, Options{})
	var late func() // the stream of the exchange before
	for i, e := range recorded(t, port) {
		name := fmt.Sprintf("%d %s", i, e.Params)
		var p wire.HTTPRequestParams
		bad := wire.DecodeParams(e.Params, &p, false)
		var got wire.HTTPResponse
		var body *Body
		if bad == nil {
			got, body, bad = c.Do(t.Context(), p)
		}
		if late != nil {
			late()
			late = nil
		}
		switch {
		case e.Error != nil:
			if bad == nil || bad.Code != e.Error.Code || bad.Message != e.Error.Message {
				t.Errorf("%s\n got %+v %v\nwant %+v", name, got, bad, e.Error)
			}
			continue
		case bad != nil:
			t.Errorf("%s\n got %v\nwant %+v", name, bad, e.Result)
			continue
		}
		for _, r := range []*wire.HTTPResponse{&got, e.Result} {
			for j := range r.Headers {
				if r.Headers[j].Name == "date" {
					r.Headers[j].Value = "D"
				}
			}
		}
		if got.Status != e.Result.Status || fmt.Sprint(got.Headers) != fmt.Sprint(e.Result.Headers) {
			t.Errorf("%s\n got %d %v\nwant %d %v", name, got.Status, got.Headers, e.Result.Status, e.Result.Headers)
		}
		want := bytes.ReplaceAll(e.Result.Body, []byte(":"+recordedPort), []byte(":"+port))
		if !bytes.Equal(got.Body, want) {
			t.Errorf("%s\n got %.300q\nwant %.300q", name, got.Body, want)
		}
		if p.StreamResponse != (body != nil) {
			t.Errorf("%s: body %v", name, body)
		}
		if body == nil {
			continue
		}
		late = func() {
			all, text := collect(body)
			var want []byte
			for _, d := range e.Deltas {
				want = append(want, d.Delta...)
			}
			last := e.Deltas[len(e.Deltas)-1]
			if p.URL == "http://"+address+"/big" {
				want = bytes.Repeat([]byte("z"), 3<<20)
			}
			if !bytes.Equal(all, want) || (text != "") != (last.Error != nil) || last.Error != nil && text != *last.Error {
				t.Errorf("%s\n got %.100q %q\nwant %.100q %v", name, all, text, want, last.Error)
			}
		}
	}
	if late != nil {
		late()
	}
}
