package secret

import (
	"bytes"
	"encoding/binary"
)

// matcher says which of many patterns are in a text, in one pass that skips
// most of it: as Wu and Manber have it, with blocks of four bytes.
type matcher struct {
	patterns []*pattern
	least    int // length of the shortest
	shift    []uint8
	ends     map[uint16][]int // patterns, by the block that ends their first least bytes
}

const (
	block     = 4
	blockBits = 16
)

func blockHash(b []byte) uint16 {
	return uint16(binary.LittleEndian.Uint32(b) * 0x9e3779b1 >> (32 - blockBits))
}

func newMatcher(patterns []*pattern) *matcher {
	if len(patterns) == 0 {
		return nil
	}
	m := &matcher{patterns: patterns, least: len(patterns[0].text), shift: make([]uint8, 1<<blockBits), ends: make(map[uint16][]int)}
	for _, p := range patterns {
		m.least = min(m.least, len(p.text))
	}
	m.least = min(m.least, 255)
	for i := range m.shift {
		m.shift[i] = uint8(m.least - block + 1)
	}
	for i, p := range patterns {
		for end := block; end <= m.least; end++ {
			h := blockHash(p.text[end-block : end])
			m.shift[h] = min(m.shift[h], uint8(m.least-end))
		}
		h := blockHash(p.text[m.least-block : m.least])
		m.ends[h] = append(m.ends[h], i)
	}
	return m
}

// in returns the patterns that are in b. Where a text is made to be compared in
// vain again and again, it returns all of them, to be looked for one by one.
func (m *matcher) in(b []byte) []*pattern {
	var seen []bool
	var found []*pattern
	budget := 16*len(b) + 1<<16
	for end := m.least; end <= len(b); {
		h := blockHash(b[end-block : end])
		if s := m.shift[h]; s > 0 {
			end += int(s)
			continue
		}
		rest := b[end-m.least:]
		for _, i := range m.ends[h] {
			if seen != nil && seen[i] {
				continue
			}
			p := m.patterns[i]
			if budget -= len(p.text); budget < 0 {
				return m.patterns
			}
			if bytes.HasPrefix(rest, p.text) {
				if seen == nil {
					seen = make([]bool, len(m.patterns))
				}
				seen[i] = true
				found = append(found, p)
			}
		}
		end++
	}
	return found
}
