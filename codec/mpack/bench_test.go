package mpack_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
)

type payload struct {
	name string
	raw  codec.Raw
}

func payloads(b *testing.B) []payload {
	b.Helper()
	list := make([]any, 0, 1000)
	for i := range 1000 {
		list = append(list, map[string]any{"line": i * 1000, "name": "identifier", "ok": true, "range": []any{i, i + 1, 3.5}})
	}
	var out []payload
	for _, p := range []struct {
		name string
		v    any
	}{
		{"bin of 100 B", make([]byte, 98)},
		{"params", map[string]any{"path": "/srv/ts/src/main.ts", "line": 120, "column": 7, "trigger": "."}},
		{"100 ints", make([]int, 100)},
		{"1000 maps", list},
	} {
		raw, err := enc.Marshal(p.v)
		if err != nil {
			b.Fatal(err)
		}
		out = append(out, payload{p.name, raw})
	}
	return out
}

// BenchmarkCheck takes turns between the check and the decode that it
// protects, so that ratios of one run can be trusted on a busy machine: the
// check's time in that of the library's decode into plain values, and of its
// Skip, which is what a RawMessage costs at least.
func BenchmarkCheck(b *testing.B) {
	for _, p := range payloads(b) {
		b.Run(p.name, func(b *testing.B) {
			src := bytes.NewReader(p.raw)
			dec := msgpack.NewDecoder(src)
			var check, decode, skip time.Duration
			const turn = 20
			b.SetBytes(int64(len(p.raw)))
			rounds := 0
			for b.Loop() {
				rounds++
				t0 := time.Now()
				for range turn {
					if err := mpack.CheckAll(p.raw, codec.Limits{}); err != nil {
						b.Fatal(err)
					}
				}
				t1 := time.Now()
				for range turn {
					src.Reset(p.raw)
					if _, err := dec.DecodeInterface(); err != nil {
						b.Fatal(err)
					}
				}
				t2 := time.Now()
				for range turn {
					src.Reset(p.raw)
					if err := dec.Skip(); err != nil {
						b.Fatal(err)
					}
				}
				t3 := time.Now()
				check += t1.Sub(t0)
				decode += t2.Sub(t1)
				skip += t3.Sub(t2)
			}
			b.ReportMetric(float64(check.Nanoseconds())/float64(rounds*turn), "check-ns")
			b.ReportMetric(float64(check)/float64(decode), "check/decode")
			b.ReportMetric(float64(check)/float64(skip), "check/skip")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkUnmarshal is check and decode together.
func BenchmarkUnmarshal(b *testing.B) {
	for _, p := range payloads(b) {
		b.Run(p.name, func(b *testing.B) {
			b.SetBytes(int64(len(p.raw)))
			b.ReportAllocs()
			for b.Loop() {
				var v any
				if err := enc.Unmarshal(p.raw, &v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkMarshal(b *testing.B) {
	type params struct {
		Path string `json:"path"`
		Line int    `json:"line"`
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := enc.Marshal(params{"/srv/ts/src/main.ts", 120}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkToJSON(b *testing.B) {
	for _, p := range payloads(b) {
		b.Run(p.name, func(b *testing.B) {
			b.SetBytes(int64(len(p.raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := enc.ToJSON(p.raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
