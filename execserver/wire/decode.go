package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/internal/jsonwalk"
)

// decodeError is a detail of -32602.
type decodeError string

func (e decodeError) Error() string { return string(e) }

func missing(field string) error { return decodeError("missing field `" + field + "`") }

// DecodeParams reads params into a struct of this package; p is a pointer to
// it, or nil for a method without params. raw is a valid JSON value or nil.
// Members of extensions are passed over unless ext. The error is -32602.
func DecodeParams(raw []byte, p any, ext bool) *Error {
	if p == nil {
		return noParams(raw)
	}
	if raw == nil {
		raw = null
	}
	d := decoder{ext: ext}
	if err := d.value(raw, reflect.ValueOf(p).Elem()); err != nil {
		return &Error{Code: CodeInvalidParams, Message: err.Error()}
	}
	return nil
}

var null = []byte("null")

// noParams checks the params of a method that has none.
func noParams(raw []byte) *Error {
	if raw == nil || string(raw) == "null" {
		return nil
	}
	empty := raw[0] == '{'
	members(raw, func(_, _ []byte) { empty = false })
	if empty {
		return nil
	}
	return InvalidParams("%s", wrongType(raw, "unit"))
}

// decodeInto reads a valid JSON value into what p points to.
func decodeInto(raw []byte, p any) error {
	return (&decoder{}).value(raw, reflect.ValueOf(p).Elem())
}

// decoder reads values strictly: it converts no type to another, takes null only
// for what is optional, and ignores unknown members.
//
// The tag wire of a field is "required", or "ext" for a member of an extension, or
// "null" for one that may be null as if it were missing.
type decoder struct{ ext bool }

// custom is a type that reads itself.
type custom interface{ decodeWire(raw []byte) error }

// variant is a string with a few possible values.
type variant interface{ variants() []string }

// tagged is a struct that stands for an internally tagged enum of the protocol.
// check reports what is missing of it.
type tagged interface{ check() error }

var (
	customType  = reflect.TypeFor[custom]()
	taggedType  = reflect.TypeFor[tagged]()
	variantType = reflect.TypeFor[variant]()
	bytesType   = reflect.TypeFor[[]byte]()
	rawType     = reflect.TypeFor[json.RawMessage]()
)

func (d *decoder) value(raw []byte, v reflect.Value) error {
	t := v.Type()
	if t.Kind() == reflect.Pointer {
		if string(raw) == "null" {
			v.SetZero()
			return nil
		}
		p := reflect.New(t.Elem())
		if err := d.value(raw, p.Elem()); err != nil {
			return err
		}
		v.Set(p)
		return nil
	}
	switch {
	case reflect.PointerTo(t).Implements(customType):
		return v.Addr().Interface().(custom).decodeWire(raw)
	case t.Implements(variantType):
		return d.variant(raw, v)
	case t == rawType:
		v.SetBytes(raw)
		return nil
	case t == bytesType:
		return d.bytes(raw, v)
	}
	switch t.Kind() {
	case reflect.String:
		s, err := text(raw)
		if err == nil {
			v.SetString(s)
		}
		return err
	case reflect.Bool:
		switch string(raw) {
		case "true", "false":
			v.SetBool(raw[0] == 't')
			return nil
		}
		return wrongType(raw, "a boolean")
	case reflect.Uint64, reflect.Uint, reflect.Uint16, reflect.Uint32:
		return d.unsigned(raw, v)
	case reflect.Int64:
		if !isNumber(raw) {
			return wrongType(raw, "i64")
		}
		n, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil {
			return decodeError("invalid number")
		}
		v.SetInt(n)
		return nil
	case reflect.Slice:
		return d.slice(raw, v)
	case reflect.Map:
		return d.table(raw, v)
	case reflect.Struct:
		return d.object(raw, v)
	}
	return fmt.Errorf("cannot decode a %s", t)
}

func isNumber(raw []byte) bool {
	return len(raw) > 0 && (raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9')
}

func text(raw []byte) (string, error) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", wrongType(raw, "a string")
	}
	return unquote(raw)
}

// unsigned reads numbers. uint stands for the size of a thing in memory.
func (d *decoder) unsigned(raw []byte, v reflect.Value) error {
	if !isNumber(raw) {
		name := "u" + strconv.Itoa(v.Type().Bits())
		if v.Kind() == reflect.Uint {
			name = "usize"
		}
		return wrongType(raw, name)
	}
	n, err := strconv.ParseUint(string(raw), 10, v.Type().Bits())
	if err != nil {
		return decodeError("invalid number")
	}
	v.SetUint(n)
	return nil
}

func (d *decoder) bytes(raw []byte, v reflect.Value) error {
	if len(raw) == 0 || raw[0] != '"' {
		return wrongType(raw, "a string")
	}
	in := raw[1 : len(raw)-1]
	if bytes.IndexByte(in, '\\') >= 0 { // legal, but unusual
		s, err := unquote(raw)
		if err != nil {
			return err
		}
		in = []byte(s)
	}
	out, err := DecodeBase64(in)
	if err != nil {
		return decodeError(err.Error())
	}
	v.SetBytes(out)
	return nil
}

func (d *decoder) variant(raw []byte, v reflect.Value) error {
	if len(raw) == 0 || raw[0] != '"' {
		return wrongType(raw, "string or map")
	}
	s, err := unquote(raw)
	if err != nil {
		return err
	}
	known := v.Interface().(variant).variants()
	if slices.Contains(known, s) {
		v.SetString(s)
		return nil
	}
	e := "unknown variant `" + s + "`, expected "
	switch len(known) {
	case 1:
		e += "`" + known[0] + "`"
	case 2:
		e += "`" + known[0] + "` or `" + known[1] + "`"
	default:
		e += "one of `" + strings.Join(known, "`, `") + "`"
	}
	return decodeError(e)
}

func (d *decoder) slice(raw []byte, v reflect.Value) error {
	if len(raw) == 0 || raw[0] != '[' {
		return wrongType(raw, "a sequence")
	}
	t := v.Type().Elem()
	out := reflect.MakeSlice(v.Type(), 0, 4)
	var err error
	jsonwalk.Array(raw, func(value []byte) bool {
		e := reflect.New(t).Elem()
		err = d.value(value, e)
		out = reflect.Append(out, e)
		return err == nil
	})
	v.Set(out)
	return err
}

func (d *decoder) table(raw []byte, v reflect.Value) error {
	if len(raw) == 0 || raw[0] != '{' {
		return wrongType(raw, "a map")
	}
	t := v.Type().Elem()
	out := reflect.MakeMap(v.Type())
	var err error
	members(raw, func(key, value []byte) {
		if err != nil {
			return
		}
		var k string
		if k, err = unquote(key); err != nil {
			return
		}
		e := reflect.New(t).Elem()
		if err = d.value(value, e); err == nil {
			out.SetMapIndex(reflect.ValueOf(k), e)
		}
	})
	v.Set(out)
	return err
}

func (d *decoder) object(raw []byte, v reflect.Value) error {
	p := planOf(v.Type())
	if len(raw) == 0 || raw[0] != '{' {
		return wrongType(raw, p.name)
	}
	var seen uint64
	var err error
	members(raw, func(key, value []byte) {
		if err != nil {
			return
		}
		i, ok := p.index[string(key[1:len(key)-1])]
		if !ok || p.fields[i].tag == "ext" && !d.ext || p.fields[i].tag == "null" && string(value) == "null" {
			return
		}
		seen |= 1 << i
		err = d.value(value, v.Field(p.fields[i].at))
	})
	if err != nil {
		return err
	}
	for i, f := range p.fields {
		if f.tag == "required" && seen&(1<<i) == 0 {
			return missing(f.name)
		}
	}
	if p.tagged {
		return v.Addr().Interface().(tagged).check()
	}
	return nil
}

// plan is how a struct is read, found out once.
type plan struct {
	name   string // in errors
	fields []field
	index  map[string]int
	tagged bool
}

type field struct {
	name string
	tag  string
	at   int
}

var plans sync.Map // reflect.Type → *plan

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p := &plan{name: cmp.Or(structNames[t.Name()], t.Name()), index: map[string]int{}, tagged: reflect.PointerTo(t).Implements(taggedType)}
	if p.tagged {
		p.name = "internally tagged enum " + p.name
	} else {
		p.name = "struct " + p.name
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		p.index[name] = len(p.fields)
		p.fields = append(p.fields, field{name, f.Tag.Get("wire"), i})
	}
	got, _ := plans.LoadOrStore(t, p)
	return got.(*plan)
}

// structNames are the names of structs in errors, where they differ from ours.
var structNames = map[string]string{
	"ProcessStartParams":     "WireExecParams",
	"ProcessMetadata":        "ExecMetadata",
	"ManagedNetwork":         "ManagedNetworkSandboxContext",
	"ShellSnapshot":          "ShellSnapshotRequest",
	"ProcessReadParams":      "ReadParams",
	"ProcessWriteParams":     "WriteParams",
	"ProcessSignalParams":    "SignalParams",
	"ProcessTerminateParams": "TerminateParams",
	"EnvPolicy":              "ExecEnvPolicy",
	"SandboxContext":         "WireFileSystemSandboxContext",
	"HTTPRequestParams":      "HttpRequestParams",
	"HTTPHeader":             "HttpHeader",
	"TraceContext":           "W3cTraceContext",
	"Error":                  "JSONRPCErrorError",
	"Permissions":            "ExecPermissionProfile",
	"FileSystemPermissions":  "ManagedFileSystemPermissions",
	"FSReadFileParams":       "WireFsReadFileParams", "FSWriteFileParams": "WireFsWriteFileParams",
	"FSCreateDirectoryParams": "WireFsCreateDirectoryParams", "FSGetMetadataParams": "WireFsGetMetadataParams",
	"FSCanonicalizeParams": "WireFsCanonicalizeParams", "FSReadDirectoryParams": "WireFsReadDirectoryParams",
	"FSWalkParams": "WireFsWalkParams", "FSWalkOptions": "WalkOptions", "FSRemoveParams": "WireFsRemoveParams",
	"FSCopyParams": "WireFsCopyParams", "FSOpenParams": "WireFsOpenParams", "FSReadBlockParams": "FsReadBlockParams",
	"FSWriteBlockParams": "FsWriteBlockParams", "FSCloseParams": "FsCloseParams", "FSWatchMissingParams": "FsWatchMissingParams",
}

// wrongType names what a valid value is, and what should be there.
func wrongType(raw []byte, expected string) error {
	what := "null"
	if len(raw) > 0 {
		switch raw[0] {
		case '"':
			s, _ := unquote(raw)
			what = "string " + debugString(s)
		case '{':
			what = "map"
		case '[':
			what = "sequence"
		case 't', 'f':
			what = "boolean `" + string(raw) + "`"
		case 'n':
		default:
			what = "number"
		}
	}
	return decodeError("invalid type: " + what + ", expected " + expected)
}

// debugString puts s in quotes for an error.
func debugString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == 0:
			b.WriteString(`\0`)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
