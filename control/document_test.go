package control

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/hostsup/hostsup/execserver/part"
	"github.com/hostsup/hostsup/execserver/server"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/intercept/feed"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// OpenAPI returns the document of the API, made from its table. What answers may hold is
// left open, so that fields can be added; with strict it is not, for tests.
func OpenAPI(strict bool) ([]byte, error) {
	d := documenter{strict: strict, schemas: map[string]*jsonschema.Schema{}, remarks: map[string]map[string]string{}}
	paths := map[string]map[string]any{}
	for _, op := range operations() {
		at := op.at()
		if paths[at] == nil {
			paths[at] = map[string]any{}
		}
		paths[at][strings.ToLower(op.method)] = d.operation(&op)
	}
	failure := map[string]any{"description": "An error. The class is for programs, the message for people.", "content": d.content(contentOf[errorBody](typeJSON))}
	for len(d.open) > 0 {
		t := d.open[0]
		d.open = d.open[1:]
		if err := d.describe(t); err != nil {
			return nil, err
		}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	err := enc.Encode(map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{
			"title": "hostsup", "version": strings.TrimPrefix(prefix, "/v"), "license": map[string]string{"name": "Apache-2.0", "identifier": "Apache-2.0"},
			"description": "Sees and controls a running supervisor. The same API is served on its control socket, where the kernel says who calls, and on console.listen, where every request has a token.",
		},
		"paths": paths,
		"components": map[string]any{
			"schemas":         d.schemas,
			"responses":       map[string]any{"Error": failure},
			"securitySchemes": map[string]any{"token": map[string]string{"type": "http", "scheme": "bearer", "description": "A token of the console, with a role. The roles of an operation are the least that it needs."}},
		},
	})
	return out.Bytes(), err
}

// documenter collects what a document has to define.
type documenter struct {
	strict  bool
	schemas map[string]*jsonschema.Schema
	known   []reflect.Type
	open    []reflect.Type
	sent    []reflect.Type               // bodies of requests: unknown fields are refused
	remarks map[string]map[string]string // comments of the types of a package: of a type "T", of a field "T.F"
}

func (d *documenter) operation(op *operation) map[string]any {
	answers := map[string]any{}
	kinds := map[string]any{}
	text := "Done."
	for _, c := range op.answers {
		for media, what := range d.content(c) {
			kinds[media] = what
		}
		if c.media == typeNDJSON {
			text = "Done, or begun. The schema of a stream is that of each line, or of the data of each event."
		}
	}
	answers["200"] = map[string]any{"description": text, "content": kinds}
	answers["default"] = map[string]string{"$ref": "#/components/responses/Error"}
	out := map[string]any{
		"operationId": op.name, "summary": op.doc, "responses": answers,
		"security": []any{map[string][]Role{"token": {op.role}}},
	}
	var params []any
	for i := range op.input.NumField() {
		f := op.input.Field(i)
		p := parameterOf(f)
		if p.in == inBody {
			d.sent = append(d.sent, f.Type)
			out["requestBody"] = map[string]any{"required": true, "content": map[string]any{typeJSON: map[string]any{"schema": d.ref(f.Type)}}}
			continue
		}
		row := map[string]any{"name": p.name, "in": p.in, "description": p.doc, "schema": p.schema(f.Type)}
		if p.required {
			row["required"] = true
		}
		params = append(params, row)
	}
	if params != nil {
		out["parameters"] = params
	}
	if op.endless {
		out["requestBody"] = map[string]any{"required": true, "content": map[string]any{typeBytes: map[string]any{}}}
	}
	return out
}

func (p parameter) schema(t reflect.Type) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	switch t.Kind() {
	case reflect.Bool:
		s.Type = "boolean"
	case reflect.Int, reflect.Uint64:
		s.Type, s.Minimum = "integer", new(float64)
		if p.max > 0 {
			s.Maximum = jsonschema.Ptr(float64(p.max))
		}
	case reflect.Slice:
		return &jsonschema.Schema{Type: "array", Items: p.schema(t.Elem())}
	}
	for _, word := range p.enum {
		s.Enum = append(s.Enum, word)
	}
	if p.in == inPath {
		s.MinLength = jsonschema.Ptr(1)
	}
	return s
}

func (d *documenter) content(c content) map[string]any {
	switch len(c.types) {
	case 0:
		return map[string]any{c.media: map[string]any{}}
	case 1:
		return map[string]any{c.media: map[string]any{"schema": d.ref(c.types[0])}}
	}
	var any1 []*jsonschema.Schema
	for _, t := range c.types {
		any1 = append(any1, d.ref(t))
	}
	return map[string]any{c.media: map[string]any{"schema": &jsonschema.Schema{AnyOf: any1}}}
}

// ref returns a reference to the schema of a type, which is then defined.
func (d *documenter) ref(t reflect.Type) *jsonschema.Schema {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if other, ok := instead[t]; ok {
		t = other
	}
	if s := words(t); s != nil {
		return s
	}
	if t.Kind() != reflect.Struct {
		return &jsonschema.Schema{Type: "object"}
	}
	if !slices.Contains(d.known, t) {
		d.known, d.open = append(d.known, t), append(d.open, t)
	}
	return &jsonschema.Schema{Ref: "#/components/schemas/" + schemaName(t)}
}

// instead has types with the JSON of others that have methods for it.
var instead = map[reflect.Type]reflect.Type{
	reflect.TypeFor[feed.Message]():          reflect.TypeFor[Message](),
	reflect.TypeFor[supervisor.PartStatus](): reflect.TypeFor[part.Status](),
}

// nullable has the fields that are null where they are empty.
var nullable = map[reflect.Type][]string{
	reflect.TypeFor[extensions.Status]():     {"place", "why"},
	reflect.TypeFor[extensions.Blame]():      {"decision"},
	reflect.TypeFor[extensions.Difference](): {"before", "after"},
}

// schemaName is the name of a type, which those of other packages have too.
func schemaName(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[struct{}]():
		return "Nothing"
	case reflect.TypeFor[extensions.Status]():
		return "Extension"
	case reflect.TypeFor[part.Status]():
		return "ExecServer"
	case reflect.TypeFor[server.Metrics]():
		return "ExecServerMetrics"
	}
	name := []rune(t.Name())
	name[0] = unicode.ToUpper(name[0])
	return string(name)
}

// words returns the schema of types that are not written as Go has them, or nil.
func words(t reflect.Type) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	switch t {
	case reflect.TypeFor[time.Time]():
		s.Format = "date-time"
	case reflect.TypeFor[json.RawMessage]():
		return &jsonschema.Schema{}
	case reflect.TypeFor[[]byte]():
		s.ContentEncoding = "base64"
	case reflect.TypeFor[lifecycle.State]():
		for _, st := range lifecycle.States() {
			s.Enum = append(s.Enum, string(st))
		}
	case reflect.TypeFor[capture.Stream]():
		for _, st := range []capture.Stream{capture.Stdout, capture.Stderr, capture.Note} {
			s.Enum = append(s.Enum, st.String())
		}
	default:
		return nil
	}
	return s
}

// describe defines the schema of a struct.
func (d *documenter) describe(t reflect.Type) error {
	overrides := map[reflect.Type]*jsonschema.Schema{}
	var fields []reflect.StructField
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous || !f.IsExported() {
			continue
		}
		inner := f.Type
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice && words(inner) == nil {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct || words(inner) != nil {
			if f.Tag.Get("json") != "-" {
				overrides[inner] = d.ref(inner)
			}
		}
		f.Index, f.Offset = nil, 0
		fields = append(fields, f)
	}
	// A type without a name may hold itself.
	s, err := jsonschema.ForType(reflect.StructOf(fields), &jsonschema.ForOptions{TypeSchemas: overrides})
	if err != nil {
		return fmt.Errorf("%s: %w", t, err)
	}
	if !d.strict && !slices.Contains(d.sent, t) {
		s.AdditionalProperties = nil
	}
	comments, err := d.comments(t.PkgPath())
	if err != nil {
		return err
	}
	s.Description = comments[t.Name()]
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		p := s.Properties[name]
		if p == nil {
			continue
		}
		if len(p.Types) == 2 && p.Types[1] == "array" && f.Type.Kind() == reflect.Slice {
			p.Type, p.Types = "array", nil // an empty list is [], null is unknown
		}
		if slices.Contains(nullable[t], name) {
			p.Type, p.Types = "", []string{"null", p.Type}
		}
		if p.Ref != "" && p.Types != nil {
			p = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Ref: p.Ref}, {Type: "null"}}}
			s.Properties[name] = p
		}
		if p.Enum != nil && p.Types != nil {
			p.Enum = append(p.Enum, nil)
		}
		p.Description = comments[t.Name()+"."+f.Name]
	}
	name := schemaName(t)
	if d.schemas[name] != nil {
		return fmt.Errorf("two types are called %s", name)
	}
	d.schemas[name] = s
	return nil
}

// comments returns those of the types of a package of this module.
func (d *documenter) comments(pkg string) (map[string]string, error) {
	dir, ours := strings.CutPrefix(pkg, "github.com/hostsup/hostsup/")
	if found := d.remarks[pkg]; found != nil || !ours {
		return found, nil
	}
	found := map[string]string{}
	d.remarks[pkg] = found
	root := os.DirFS("..")
	files, err := fs.Glob(root, path.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		src, err := fs.ReadFile(root, name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			decl, ok := n.(*ast.GenDecl)
			if !ok {
				return true
			}
			for _, spec := range decl.Specs {
				t, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				found[t.Name.Name] = remark(t.Doc, decl.Doc)
				st, ok := t.Type.(*ast.StructType)
				if !ok {
					continue
				}
				for _, f := range st.Fields.List {
					for _, id := range f.Names {
						found[t.Name.Name+"."+id.Name] = remark(f.Doc, f.Comment)
					}
				}
			}
			return false
		})
	}
	return found, nil
}

// remark is the text of the first comment that there is.
func remark(groups ...*ast.CommentGroup) string {
	for _, g := range groups {
		if g != nil {
			return strings.Join(strings.Fields(g.Text()), " ")
		}
	}
	return ""
}
