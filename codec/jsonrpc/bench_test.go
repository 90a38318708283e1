package jsonrpc_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
)

// again reads the same bytes over and over.
type again struct {
	b   []byte
	pos int
}

func (a *again) Read(p []byte) (int, error) {
	n := copy(p, a.b[a.pos:])
	a.pos = (a.pos + n) % len(a.b)
	return n, nil
}

// The cost of a message each way: small, as most are, and of a megabyte.
func BenchmarkReader(b *testing.B) {
	for name, result := range map[string]string{"small": `{"contents":"x"}`, "text of 1 MiB": `"` + strings.Repeat("x", 1<<20) + `"`, "numbers of 1 MiB": "[" + strings.Repeat("123,", 1<<18) + "1]"} {
		for _, p := range []codec.Protocol{lsp, mcp} {
			body := `{"jsonrpc":"2.0","id":7,"result":` + result + `}`
			if p == lsp {
				body = headers(body)
			} else {
				body += "\n"
			}
			b.Run(p.Name()+"/"+name, func(b *testing.B) {
				r := p.Open(codec.Limits{}).NewReader(&again{b: []byte(body)})
				b.SetBytes(int64(len(body)))
				b.ReportAllocs()
				var m codec.Message
				for b.Loop() {
					if err := r.Next(&m); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	params := codec.Raw(`{"textDocument":{"uri":"file:///a"},"position":{"line":1,"character":2}}`)
	for name, m := range map[string]codec.Message{
		"plain":    {Kind: codec.Request, ID: 7, Method: "textDocument/hover", Params: params},
		"progress": {Kind: codec.Request, ID: 7, Method: "textDocument/hover", Params: params, Progress: true},
		"1 MiB":    {Kind: codec.Notification, Method: "m", Params: codec.Raw(`["` + strings.Repeat("x", 1<<20) + `"]`)},
	} {
		for _, p := range []codec.Protocol{lsp, mcp} {
			b.Run(p.Name()+"/"+name, func(b *testing.B) {
				s := p.Open(codec.Limits{})
				var dst []byte
				b.ReportAllocs()
				for b.Loop() {
					var err error
					if dst, err = s.Append(dst[:0], &m); err != nil {
						b.Fatal(err)
					}
				}
				b.SetBytes(int64(len(dst)))
			})
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	text := []byte(`{"a":[1,2.5,true,null,"some text","ünïcode"],"b":{"c":"` + strings.Repeat("long text ", 100) + `"}}`)
	text = append(append([]byte("["), bytes.Repeat(append(text, ','), 100)...), "0]"...)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if err := jsonrpc.Check(text, codec.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
