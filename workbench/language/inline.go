package language

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"
)

// InlineCompletion is a text that an editor shows behind the cursor, to be taken over as a whole.
type InlineCompletion struct {
	Text    string   `json:"insertText"`
	Snippet bool     `json:"snippet,omitempty"`    // Text has placeholders
	Filter  string   `json:"filterText,omitempty"` // "": Text
	Range   *Range   `json:"range,omitempty"`      // what it replaces; nil: nothing, it is inserted
	Command *Command `json:"command,omitempty"`    // executed when it was taken over
}

// UnmarshalJSON implements [json.Unmarshaler]: it also reads what hosts send, where a snippet is an
// object.
func (i *InlineCompletion) UnmarshalJSON(raw []byte) error {
	type plain InlineCompletion
	in := struct {
		*plain
		Insert json.RawMessage `json:"insertText"`
	}{plain: (*plain)(i)}
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	if json.Unmarshal(in.Insert, &i.Text) == nil {
		return nil
	}
	i.Snippet = true
	return json.Unmarshal(property(in.Insert, "snippet"), &i.Text)
}

// LinkedRanges are parts of a document with the same text that change together.
type LinkedRanges struct {
	Ranges []Range `json:"ranges"`
	// Word is what the text must match to stay linked, in the syntax of JavaScript; "": the words of the
	// language.
	Word string `json:"wordPattern,omitempty"`
}

// UnmarshalJSON implements [json.Unmarshaler]: it also reads what hosts send, where the pattern is an
// object.
func (l *LinkedRanges) UnmarshalJSON(raw []byte) error {
	var in struct {
		Ranges []Range
		Word   json.RawMessage `json:"wordPattern"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	*l = LinkedRanges{Ranges: in.Ranges}
	if isNothing(in.Word) || json.Unmarshal(in.Word, &l.Word) == nil {
		return nil
	}
	return json.Unmarshal(property(in.Word, "pattern"), &l.Word)
}

// inline is the context of a question for [FeatureInline] at a time.
func (q *Query) inline(now time.Time) map[string]any {
	ms := now.UnixMilli()
	out := map[string]any{
		"triggerKind": 1, "requestUuid": strconv.FormatInt(now.UnixNano(), 36), "includeInlineCompletions": true, "includeInlineEdits": false,
		"requestIssuedDateTime": ms, "earliestShownDateTime": ms,
	}
	if q.Automatic {
		out["triggerKind"] = 0
	}
	if q.Range != nil {
		out["selectedSuggestionInfo"] = map[string]any{"range": q.Range.wire(), "text": q.Text, "completionKind": 0, "isSnippetText": false}
	}
	return out
}

// yields returns the group of a provider of inline completions, and the groups with whose completions
// its own are not shown. Later releases have the version of the extension in between.
func (p *provider) yields() (group string, to []string) {
	at := 3 // behind the selector, a flag, and the id of the extension
	if len(p.rest) > at+2 && json.Unmarshal(p.rest[at], &to) != nil {
		_ = json.Unmarshal(p.rest[at+1], &group)
		to, at = nil, at+2
		_ = json.Unmarshal(p.rest[at], &to)
	}
	if group == "" && len(p.rest) > 2 {
		_ = json.Unmarshal(p.rest[2], &group)
	}
	return group, to
}

// mergeInline leaves out the completions of providers that yield to others that have some, and edits
// elsewhere in the document, which are not shown behind the cursor.
func mergeInline(items []item) ([]item, error) {
	groups := map[string]bool{}
	out := slices.DeleteFunc(items, func(it item) bool {
		return isNothing(property(it.raw, "insertText")) || string(property(it.raw, "isInlineEdit")) == "true"
	})
	for _, it := range out {
		group, _ := it.p.yields()
		groups[group] = true
	}
	return slices.DeleteFunc(out, func(it item) bool {
		own, to := it.p.yields()
		return slices.ContainsFunc(to, func(other string) bool { return other != own && groups[other] })
	}), nil
}
