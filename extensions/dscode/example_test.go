package dscode_test

import (
	"fmt"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions/dscode"
)

func ExampleNew() {
	p := dscode.New()
	s := p.Open(codec.Limits{})
	params, _ := p.Marshal(map[string]string{"path": "/srv"})
	frame, _ := s.Append(nil, &codec.Message{Kind: codec.Request, ID: 2, Method: "workspace.open", Params: params})
	const label = 13 // says for which connection the frame is
	fmt.Printf("%q\n", frame[label:])
	// Output: "\x00\x00\x00@{\"id\":\"req_2\",\"type\":\"workspace.open\",\"payload\":{\"path\":\"/srv\"}}"
}
