package mpack_test

import (
	"bytes"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
)

// allocated runs f and returns the bytes that it set aside.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// targets are made anew for each attack.
func targets() []any {
	return []any{
		nil, new(any), new(map[string]any), new([]any), new(codec.Raw), new([]int), new([]string), new([]byte), new(string),
		new(map[string]string), new(map[int]int), new(map[string]codec.Raw), new(time.Time), new(int8), new(float64),
		new(struct {
			A any            `json:"a"`
			M map[string]any `json:"m"`
			R codec.Raw      `json:"r"`
			S []string       `json:"s"`
			N []struct {
				A map[string]any `json:"a"`
			} `json:"n"`
		}),
	}
}

// Bytes that make a trusting decoder set gigabytes aside, or overflow its
// stack, cost next to nothing here.
func TestAttacks(t *testing.T) {
	rep := func(b string, n int) string { return string(bytes.Repeat([]byte(b), n)) }
	ff := "\xff\xff\xff\xff"
	attacks := map[string]string{
		"array of 2^32-1 in 10 bytes":  "\xdd" + ff + "\xc0\xc0\xc0\xc0\xc0",
		"map of 2^32-1 in 10 bytes":    "\xdf" + ff + "\xc0\xc0\xc0\xc0\xc0",
		"the same in a field":          "\x81\xa1a\xdd" + ff,
		"map in a field":               "\x81\xa1m\xdf" + ff,
		"strings in a field":           "\x81\xa1s\xdd" + ff,
		"str of 4 GiB":                 "\xdb" + ff + "abc",
		"bin of 4 GiB":                 "\xc6" + ff + "abc",
		"ext of 4 GiB":                 "\xc9" + ff + "\x05abc",
		"10 MB of nested arrays":       rep("\x91", 10<<20),
		"10 MB of nested maps":         rep("\x81\xa1a", 3<<20),
		"10 MB of nested maps as keys": rep("\x81", 10<<20),
		"10 MB of nil in one array":    "\xdd\x00\xa0\x00\x00" + rep("\xc0", 10<<20),
		"10 MB of empty maps":          "\xdd\x00\xa0\x00\x00" + rep("\x80", 10<<20),
		"two million empty maps":       "\xdd\x00\x20\x00\x00" + rep("\x80", 2<<20),
		"a million small maps":         "\xdd\x00\x10\x00\x00" + rep("\x81\xa0\xc0", 1<<20),
		"the byte without meaning":     "\xc1",
		"nothing but a header":         "\xdd",
		// Where the library expects a map it takes an extension's payload for
		// the map's header.
		"a map's header in an extension":          "\xd7\x05\xdf" + ff + "\x00\x00\x00",
		"a map's header in a long extension":      "\xc7\x06\x05\xdf" + ff + "\x00",
		"a map's header in a timestamp":           "\xd7\xff\xdf" + ff + "\x00\x00\x00",
		"a map's header in a field's extension":   "\x81\xa1m\xd7\x05\xdf" + ff + "\x00\x00\x00",
		"a map's header in an element's":          "\x81\xa1n\x91\x81\xa1a\xd7\xff\xdf" + ff + "\x00\x00\x00",
		"a map's header in an extension of 16":    "\xc8\x00\x08\x05\xdf" + ff + "\x00\x00\x00",
		"a map's header where any map is decoded": "\x81\xa1a\x81\xa1b\xd7\x05\xdf" + ff + "\x00\x00\x00",
	}
	// Too much for an any, no more than their own size as bytes.
	wellFormed := map[string]bool{"two million empty maps": true, "a million small maps": true}
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			raw := codec.Raw(attack)
			for _, out := range targets() {
				if _, copied := out.(*codec.Raw); copied && wellFormed[name] {
					continue
				}
				start := time.Now()
				var err error
				got := allocated(func() { err = enc.Unmarshal(raw, out) })
				if limit := uint64(256 << 10); got > limit && !(wellFormed[name] && got < 32*uint64(len(raw))) {
					t.Errorf("into %T: %d bytes set aside for %d (%v)", out, got, len(raw), err)
				}
				if d := time.Since(start); d > 30*time.Second {
					t.Errorf("into %T: %v", out, d)
				}
				// Extensions are well-formed: only some targets refuse them.
				if err == nil && len(raw) > 1<<20 && out != nil {
					t.Errorf("into %T: accepted", out)
				}
			}
			if got := allocated(func() { _, _ = enc.ToJSON(raw) }); got > 256<<10 && len(raw) < 1<<20 {
				t.Errorf("ToJSON: %d bytes set aside for %d", got, len(raw))
			}
		})
	}
}

// What is within the limits is decoded, at a cost in proportion.
func TestLargeValues(t *testing.T) {
	wide := append([]byte("\xdd\x00\x3f\xff\xff"), bytes.Repeat([]byte{0xc0}, 4<<20-1)...)
	var v any
	var err error
	got := allocated(func() { err = enc.Unmarshal(wide, &v) })
	if err != nil || len(v.([]any)) != 4<<20-1 || got > 20*uint64(len(wide)) {
		t.Errorf("an array of 4 Mi nils: %v, %d bytes set aside", err, got)
	}
	bin := append([]byte("\xc6\x02\x00\x00\x00"), make([]byte, 32<<20)...)
	got = allocated(func() { err = enc.Unmarshal(bin, &v) })
	if err == nil && got > 2*uint64(len(bin)) {
		t.Errorf("a bin of 32 MiB: %d bytes set aside", got)
	}
}

// The library decodes the second value of a repeated key into the first, which
// panics where that is a plain number.
func TestRepeatedKey(t *testing.T) {
	var out struct {
		A any `json:"a"`
		M int `json:"m"`
	}
	if err := enc.Unmarshal(codec.Raw("\x82\xa1a\x01\xa1a\x02"), &out); !errors.Is(err, mpack.ErrUndecodable) {
		t.Errorf("into an any: %v", err)
	}
	if err := enc.Unmarshal(codec.Raw("\x82\xa1m\x01\xa1m\x02"), &out); err != nil || out.M != 2 {
		t.Errorf("into an int: %v, %d", err, out.M)
	}
}
