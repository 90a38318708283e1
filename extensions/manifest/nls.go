package manifest

import (
	"fmt"

	"github.com/hostsup/hostsup/internal/jsonwalk"
)

// Messages are the texts for %placeholders% in a manifest.
type Messages struct {
	texts, defaults map[string][]byte // as JSON, with their quotes
}

// extent is the position of a string that may be a placeholder.
type extent struct{ start, end int }

// ParseMessages parses package.nls.json; file is its path, for errors. A message is
// a string, or an object with a field message; other values are dropped. The error
// is a *[Problem].
func ParseMessages(data []byte, file string) (*Messages, error) {
	data = clean(data)
	if err := jsonwalk.Check(data, nil); err != nil {
		return nil, &Problem{File: file, Cause: fmt.Errorf("%w: %w", ErrJSON, err), Warning: true}
	}
	m := &Messages{texts: map[string][]byte{}}
	jsonwalk.Object(data, func(key string, value []byte) bool {
		if jsonwalk.KindOf(value) == jsonwalk.Map {
			value = jsonwalk.Member(value, "message")
		}
		if jsonwalk.KindOf(value) == jsonwalk.String && len(value) > 2 {
			m.texts[key] = value
		}
		return true
	})
	return m, nil
}

// Over returns the messages of m and, for keys that m does not have, those of
// defaults. Either may be nil.
func (m *Messages) Over(defaults *Messages) *Messages {
	if m == nil {
		return defaults
	}
	if defaults == nil {
		return m
	}
	return &Messages{m.texts, defaults.texts}
}

func (m *Messages) get(key string) []byte {
	if text := m.texts[key]; text != nil {
		return text
	}
	return m.defaults[key]
}

// fill replaces the placeholders and returns those without a message, which stay
// unchanged. Only a whole string can be a placeholder.
func (m *Messages) fill(data []byte, strs []extent) ([]byte, []string) {
	out := make([]byte, 0, len(data)+len(data)/4)
	var missing []string
	at := 0
	for _, p := range strs {
		text := jsonwalk.Text(data[p.start:p.end])
		if len(text) < 2 {
			continue
		}
		key := text[1 : len(text)-1]
		message := m.get(key)
		if message == nil {
			missing = append(missing, key)
			continue
		}
		out = append(append(out, data[at:p.start]...), message...)
		at = p.end
	}
	return append(out, data[at:]...), missing
}
