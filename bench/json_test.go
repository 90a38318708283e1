package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/internal/jsonwalk"
)

// BenchmarkJSON compares our readers of JSON with those of others on a message
// of a usual size and on one with a long string.
func BenchmarkJSON(b *testing.B) {
	var decoder jsontext.Decoder
	readers := []struct {
		name  string
		check func([]byte) error
	}{
		{"codec/jsonrpc", func(text []byte) error { return jsonrpc.Check(text, codec.Limits{}) }},
		{"internal/jsonwalk", func(text []byte) error { return jsonwalk.Check(text, nil) }},
		{"jsontext by tokens", func(text []byte) error {
			decoder.Reset(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
			for {
				if _, err := decoder.ReadToken(); err != nil {
					if errors.Is(err, io.EOF) {
						return nil
					}
					return err
				}
			}
		}},
		{"jsontext as a whole", func(text []byte) error {
			if !jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true)) {
				return errors.New("not valid")
			}
			return nil
		}},
		{"encoding/json", func(text []byte) error {
			if !json.Valid(text) {
				return errors.New("not valid")
			}
			return nil
		}},
	}
	small := []byte(`{"jsonrpc":"2.0","id":42,"method":"textDocument/hover","params":{"textDocument":{"uri":"file:///home/me/src/a.ts"},"position":{"line":10,"character":4},"context":{"kind":1,"tags":["a","b","c"],"deep":{"x":1.5e3,"y":null,"z":true}}}}`)
	long := append(append([]byte(`{"jsonrpc":"2.0","method":"output","params":{"text":"`), bytes.Repeat([]byte("abcdefgh"), 8<<10)...), `"}}`...)
	for _, message := range []struct {
		name string
		text []byte
	}{{"small", small}, {"64 KiB", long}} {
		for _, r := range readers {
			b.Run(message.name+"/"+r.name, func(b *testing.B) {
				b.SetBytes(int64(len(message.text)))
				b.ReportAllocs()
				for b.Loop() {
					if err := r.check(message.text); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
