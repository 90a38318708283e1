package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostsup/hostsup/workbench"
)

// part is a part of the result of a language model tool, as hosts send it.
type part struct {
	Kind  string
	Value json.RawMessage
}

// ToolResult translates the result of a language model tool. Texts stay texts; data is an image, a
// sound, a text or a resource, by its MIME type; and parts of another kind are JSON.
func ToolResult(raw json.RawMessage) (*Result, error) {
	var in struct {
		Content         []part
		ToolResultError json.RawMessage // true, or a text
	}
	if err := json.Unmarshal(value(raw), &in); err != nil {
		return nil, fmt.Errorf("the result of the tool: %w", err)
	}
	out := &Result{Content: []sdk.Content{}}
	for i, p := range in.Content {
		c, err := p.content(i)
		if err != nil {
			return nil, err
		}
		out.Content = append(out.Content, c)
	}
	var text string
	switch _ = json.Unmarshal(in.ToolResultError, &text); {
	case text != "":
		out.Content = append(out.Content, &sdk.TextContent{Text: text})
		out.IsError = true
	case string(in.ToolResultError) == "true":
		out.IsError = true
	}
	return out, nil
}

// content translates one part, the i-th.
func (p part) content(i int) (sdk.Content, error) {
	switch p.Kind {
	case "text":
		var text string
		if err := json.Unmarshal(p.Value, &text); err != nil {
			return nil, fmt.Errorf("part %d of the result: %w", i+1, err)
		}
		return &sdk.TextContent{Text: text}, nil
	case "data":
		var v struct {
			MIMEType string `json:"mimeType"`
			Data     workbench.Bytes
		}
		if err := json.Unmarshal(p.Value, &v); err != nil {
			return nil, fmt.Errorf("part %d of the result: %w", i+1, err)
		}
		kind, _, _ := strings.Cut(v.MIMEType, "/")
		switch base, _, _ := strings.Cut(v.MIMEType, ";"); {
		case kind == "image":
			return &sdk.ImageContent{Data: v.Data, MIMEType: v.MIMEType}, nil
		case kind == "audio":
			return &sdk.AudioContent{Data: v.Data, MIMEType: v.MIMEType}, nil
		case kind == "text", base == "application/json", base == "json", strings.HasSuffix(base, "+json"):
			return &sdk.TextContent{Text: string(v.Data)}, nil
		}
		return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: fmt.Sprintf("hostsup:result/%d", i+1), MIMEType: v.MIMEType, Blob: v.Data}}, nil
	}
	return &sdk.TextContent{Text: string(p.Value)}, nil
}

// CommandResult translates the result of a command: a text stays one, and another value is JSON.
func CommandResult(raw json.RawMessage) *Result {
	raw = value(raw)
	var text string
	switch {
	case len(raw) == 0 || bytes.Equal(raw, workbench.Undefined) || string(raw) == "null":
		text = "The command was executed and has returned nothing."
	case json.Unmarshal(raw, &text) != nil:
		text = string(raw)
	}
	return &Result{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}

// value returns a result of a host without the object around values that have no JSON.
func value(raw json.RawMessage) json.RawMessage {
	raw = bytes.TrimSpace(raw)
	var whole struct {
		Object json.RawMessage `json:"$object"`
	}
	if bytes.HasPrefix(raw, []byte(`{"$object"`)) && json.Unmarshal(raw, &whole) == nil && whole.Object != nil {
		return bytes.ReplaceAll(whole.Object, workbench.Undefined, []byte("null"))
	}
	return raw
}

// anyObject is the schema of an input that may be any object.
const anyObject = `{"type":"object"}`

// object returns a schema that MCP accepts: an object whose type is "object". One of another type
// is replaced by that of any object, one without a type gets it.
func object(schema json.RawMessage) json.RawMessage {
	var keys map[string]json.RawMessage
	if json.Unmarshal(schema, &keys) != nil || keys == nil {
		return json.RawMessage(anyObject)
	}
	switch kind := keys["type"]; {
	case string(kind) == `"object"`:
		return schema
	case kind == nil:
		keys["type"] = json.RawMessage(`"object"`)
		out, err := json.Marshal(keys)
		if err != nil {
			return json.RawMessage(anyObject)
		}
		return out
	}
	return json.RawMessage(anyObject)
}
