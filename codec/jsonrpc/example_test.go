package jsonrpc_test

import (
	"fmt"
	"strings"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
)

func ExampleHeaders() {
	s := jsonrpc.Headers(jsonrpc.Options{}).Open(codec.Limits{})
	b, err := s.Append(nil, &codec.Message{Kind: codec.Request, ID: 2, Method: "textDocument/hover", Params: codec.Raw(`{}`)})
	fmt.Printf("%q %v\n", b, err)
	// Output: "Content-Length: 66\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"textDocument/hover\",\"params\":{}}" <nil>
}

func ExampleLines() {
	s := jsonrpc.Lines(jsonrpc.Options{}).Open(codec.Limits{})
	s.Features().OnNoise(func(line []byte) { fmt.Printf("printed: %s\n", line) })
	r := s.NewReader(strings.NewReader("server ready\n" + `{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}` + "\n"))
	var m codec.Message
	err := r.Next(&m)
	fmt.Printf("%s %d: %s %v\n", m.Kind, m.ID, m.Result, err)
	// Output:
	// printed: server ready
	// response 2: {"tools":[]} <nil>
}
