package language

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hostsup/hostsup/codec"
)

func refused(err error) bool {
	var e *codec.Error
	return errors.As(err, &e) && e.Name == codec.NameInvalidParams
}

// Each item of a hierarchy may be of a session of its own.
func TestSessionsOfManyItems(t *testing.T) {
	const n = 500_000 // takes minutes if each item is compared with all before
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,{"_sessionId":"%d"}`, i)
	}
	items, ids, err := features[FeatureCallHierarchy].parse(json.RawMessage("[" + b.String()[1:] + "]"))
	if len(items) != n || len(ids) != n || err != nil {
		t.Errorf("%d items, %d sessions, %v", len(items), len(ids), err)
	}
	same := strings.Repeat(`,{"_sessionId":"a"}`, 3)
	if _, ids, err := features[FeatureCallHierarchy].parse(json.RawMessage("[" + same[1:] + "]")); len(ids) != 1 || err != nil {
		t.Errorf("%s, %v", ids, err)
	}
}

// What a host answers for a hierarchy must not make the program panic.
func TestRelatedOfAnyForm(t *testing.T) {
	for _, text := range []string{`[null]`, `[7]`, `[{}]`, `[{"from":null}]`, `[{"from":{"_sessionId":7}}]`, `[{"from":{"_sessionId":"a"}},null]`} {
		var list []json.RawMessage
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			t.Fatal(err)
		}
		got, err := relatedItems(list, "from", 3)
		if whole := text == `[{}]` || strings.HasSuffix(text, "}]"); (err == nil) != whole {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
}

// What a host registers stays in the memory of the supervisor.
func TestRegistrationsAreBounded(t *testing.T) {
	if _, err := parseSelector(json.RawMessage("[" + strings.Repeat("{},", maxFilters) + "{}]")); !refused(err) {
		t.Error(err)
	}
	if _, err := parseSelector(json.RawMessage("[" + strings.Repeat("{},", maxFilters-1) + "{}]")); err != nil {
		t.Error(err)
	}
	var r registry
	data := json.RawMessage(`"` + strings.Repeat("x", maxRegistration-2) + `"`)
	for i := range maxRegistered / maxRegistration {
		if err := r.add(&provider{host: "h", handle: i, rest: []json.RawMessage{data}}); err != nil {
			t.Fatal(i, err)
		}
	}
	if err := r.add(&provider{host: "h", handle: -1, rest: []json.RawMessage{json.RawMessage(`1`)}}); !refused(err) {
		t.Error(err)
	}
	if err := r.add(&provider{host: "h", handle: 0, rest: []json.RawMessage{json.RawMessage(`1`)}}); err != nil {
		t.Error(err) // in the place of a larger one
	}
	if err := r.add(&provider{host: "other", rest: []json.RawMessage{data}}); err != nil {
		t.Error(err)
	}
	if err := r.add(&provider{host: "third", rest: []json.RawMessage{data, data}}); !refused(err) {
		t.Error(err)
	}
}

// The answers of many providers to one question are in the memory at one time.
func TestAnswersTogetherAreBounded(t *testing.T) {
	size := &atomic.Int64{}
	for i := range 5 {
		err := within(size, maxAnswers/4)
		if (err == nil) != (i < 4) || err != nil && !refused(err) {
			t.Errorf("%d: %v", i, err)
		}
	}
}
