package control_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/hostsup/hostsup/control"
)

// The document is that of the table and the types in it.
func TestDocumentIsCurrent(t *testing.T) {
	got, err := control.OpenAPI(false)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("openapi.json", got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, kept) {
		t.Error("openapi.json is not that of the API; go test ./control -run TestDocumentIsCurrent -update writes it anew")
	}
}

// schemas validates documents by the names of schemas in openapi.json, whose answers may
// hold nothing else here.
type schemas struct {
	doc  map[string]any
	defs json.RawMessage
	made map[string]*jsonschema.Resolved
}

func newSchemas(t *testing.T) *schemas {
	t.Helper()
	text, err := control.OpenAPI(true)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte("#/components/schemas/"), []byte("#/$defs/"))
	s := &schemas{made: map[string]*jsonschema.Resolved{}}
	var parts struct {
		Components struct{ Schemas json.RawMessage }
	}
	if err := errors.Join(json.Unmarshal(text, &s.doc), json.Unmarshal(text, &parts)); err != nil {
		t.Fatal(err)
	}
	s.defs = parts.Components.Schemas
	return s
}

// operation returns an operation of the document.
func (s *schemas) operation(t *testing.T, method, path string) map[string]any {
	t.Helper()
	op, _ := s.doc["paths"].(map[string]any)[path].(map[string]any)[strings.ToLower(method)].(map[string]any)
	if op == nil {
		t.Fatalf("the document has no %s %s", method, path)
	}
	return op
}

// check validates the answer to an operation.
func (s *schemas) check(t *testing.T, op map[string]any, status int, media string, body []byte) {
	t.Helper()
	answer := op["responses"].(map[string]any)["default"].(map[string]any)
	if status == http.StatusOK {
		answer = op["responses"].(map[string]any)["200"].(map[string]any)
	} else if answer["$ref"] == "#/components/responses/Error" {
		answer = s.doc["components"].(map[string]any)["responses"].(map[string]any)["Error"].(map[string]any)
	}
	kind, ok := answer["content"].(map[string]any)[media].(map[string]any)
	if !ok {
		t.Fatalf("%s answers %d with %s, which the document does not have", op["operationId"], status, media)
	}
	schema, ok := kind["schema"]
	if !ok {
		return
	}
	for dec := json.NewDecoder(bytes.NewReader(body)); ; {
		var doc any
		switch err := dec.Decode(&doc); {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			t.Fatalf("%s: %v in %q", op["operationId"], err, body)
		}
		if err := s.resolved(t, schema).Validate(doc); err != nil {
			t.Errorf("%s answers %d with what the document does not have: %v\n%v", op["operationId"], status, err, doc)
		}
	}
}

func (s *schemas) resolved(t *testing.T, schema any) *jsonschema.Resolved {
	t.Helper()
	text, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	if r := s.made[string(text)]; r != nil {
		return r
	}
	root := new(jsonschema.Schema)
	if err := json.Unmarshal(text, root); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(s.defs, &root.Defs); err != nil {
		t.Fatal(err)
	}
	r, err := root.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	s.made[string(text)] = r
	return r
}

// The document is one of OpenAPI 3.1, as its own schema has it (of 2022-10-07).
func TestDocumentIsOpenAPI(t *testing.T) {
	var doc any
	kept, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	meta, err := os.ReadFile("testdata/openapi-3.1.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	schema := new(jsonschema.Schema)
	if err := errors.Join(json.Unmarshal(kept, &doc), json.Unmarshal(meta, schema)); err != nil {
		t.Fatal(err)
	}
	r, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(doc); err != nil {
		t.Error(err)
	}
}
