package mpack_test

import (
	"fmt"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
)

// Ten bytes that claim four billion elements are refused before anything is
// set aside for them.
func ExampleCheck() {
	claim := []byte{0xdd, 0xff, 0xff, 0xff, 0xff, 0xc0, 0xc0, 0xc0, 0xc0, 0xc0}
	_, err := mpack.Check(claim, codec.Limits{})
	fmt.Println(err)
	// Output:
	// too many elements: array of 4294967295, 5 bytes left, limit 4194304 in all at byte 0
}

func ExampleEncoding() {
	var enc mpack.Encoding
	raw, err := enc.Marshal(struct {
		Path string `json:"path"`
		Line int    `json:"line"`
	}{"main.go", 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := enc.ToJSON(raw)
	fmt.Println(string(text), err)
	// Output:
	// {"path":"main.go","line":3} <nil>
}

func ExampleNewCursor() {
	c := mpack.NewCursor([]byte{0x92, 0x05, 0xa2, 'o', 'k'}, codec.Limits{})
	n, _ := c.Array()
	id, _ := c.Uint(100)
	name, _ := c.Str(16)
	fmt.Println(n, id, string(name), c.End())
	// Output:
	// 2 5 ok true
}
