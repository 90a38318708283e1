package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/hostsup/hostsup/extensions/internal/jsonwalk"
)

// Messages are the texts that stand for %placeholders% in a manifest.
type Messages struct {
	texts, defaults map[string]string
}

// place is where a string that may be a placeholder stands.
type place struct{ start, end int }

// ParseMessages reads package.nls.json; file is its path, for what is said of
// it. A message is a string, or an object with a field message. Others are left
// out. The error is a *[Problem].
func ParseMessages(data []byte, file string) (*Messages, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if err := jsonwalk.Check(data, nil); err != nil {
		return nil, &Problem{File: file, Cause: fmt.Errorf("%w: %w", ErrJSON, err), Warning: true}
	}
	m := &Messages{texts: map[string]string{}}
	jsonwalk.Object(data, func(key string, value []byte) bool {
		if jsonwalk.KindOf(value) == jsonwalk.Map {
			value = jsonwalk.Member(value, "message")
		}
		if jsonwalk.KindOf(value) == jsonwalk.String {
			m.texts[key] = jsonwalk.Text(value)
		}
		return true
	})
	return m, nil
}

// Over returns messages that are taken from m and, where it has none, from
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

func (m *Messages) get(key string) (string, bool) {
	if text := m.texts[key]; text != "" {
		return text, true
	}
	text := m.defaults[key]
	return text, text != ""
}

// fill replaces the placeholders and returns those it has no message for, which
// stay as they are. A string of which only a part looks like one is no
// placeholder.
func (m *Messages) fill(data []byte, places []place) ([]byte, []string) {
	out := make([]byte, 0, len(data)+len(data)/4)
	var missing []string
	at := 0
	for _, p := range places {
		text := jsonwalk.Text(data[p.start:p.end])
		if len(text) < 2 {
			continue
		}
		key := text[1 : len(text)-1]
		message, ok := m.get(key)
		if !ok {
			missing = append(missing, key)
			continue
		}
		quoted, err := json.Marshal(message)
		if err != nil {
			continue
		}
		out = append(append(out, data[at:p.start]...), quoted...)
		at = p.end
	}
	return append(out, data[at:]...), missing
}
