package control

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// operation is one row of the table that the API is made from: the routes, the checks
// of what a request carries, who may use them, and the document openapi.json.
type operation struct {
	method string
	path   string // below prefix, unless it is rooted, as http.ServeMux reads it
	name   string // operationId of the document
	role   Role   // the least that a caller must have
	doc    string // one sentence
	endpoint
}

// endpoint is what an operation does.
type endpoint struct {
	input   reflect.Type // see read
	answers []content    // the possible ones
	rooted  bool         // the path is not below prefix
	endless bool         // the request's body is a stream that may last for days
	serve   func(s *Server, w http.ResponseWriter, r *http.Request) error
}

// at returns the whole path of an operation.
func (op *operation) at() string {
	if op.rooted {
		return op.path
	}
	return prefix + op.path
}

// content is a form of the answer to an operation.
type content struct {
	media string
	types []reflect.Type // of the document, or of the lines of a stream; none: any bytes
}

func contentOf[T any](media string, more ...reflect.Type) content {
	return content{media, append([]reflect.Type{reflect.TypeFor[T]()}, more...)}
}

// raw returns an endpoint whose handler writes the response. An error must be returned
// before that.
func raw[In any](f func(s *Server, w http.ResponseWriter, r *http.Request, in In) error, answers ...content) endpoint {
	return endpoint{input: reflect.TypeFor[In](), answers: answers, serve: func(s *Server, w http.ResponseWriter, r *http.Request) error {
		in, err := read[In](s, r)
		if err != nil {
			return err
		}
		return f(s, w, r, in)
	}}
}

// reply returns an endpoint that answers with one JSON document. It lasts as long as
// its caller stays connected.
func reply[In, Out any](f func(s *Server, ctx context.Context, in In) (Out, error)) endpoint {
	return raw(func(s *Server, w http.ResponseWriter, r *http.Request, in In) error {
		out, err := f(s, r.Context(), in)
		if err != nil {
			return err
		}
		return answer(w, out)
	}, contentOf[Out](typeJSON))
}

// source sends the lines of a stream. send returns false once the reader has gone.
type source func(ctx context.Context, send func(any) bool) *Error

// lines returns an endpoint that answers with one document a line, or with one a
// server-sent event. Lines are of type Line, or one of the others.
func lines[In, Line any](f func(s *Server, in In) (source, error), others ...reflect.Type) endpoint {
	others = append(others, reflect.TypeFor[endLine]())
	return raw(func(s *Server, w http.ResponseWriter, r *http.Request, in In) error {
		src, err := f(s, in)
		if err == nil {
			s.stream(w, r, src)
		}
		return err
	}, contentOf[Line](typeNDJSON, others...), contentOf[Line](typeSSE, others...))
}

// read reads what a request carries into a struct. Its fields have a tag path, query or
// header with the name of a parameter, which must be there if the field has the tag
// required; the field Body is the JSON document of the request. A field of type Host is
// found by its name, and with the tag instances it may be one of several of that name. Unknown parameters are an error.
func read[In any](s *Server, r *http.Request) (in In, err error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return in, invalid("the query is malformed: " + err.Error())
	}
	v := reflect.ValueOf(&in).Elem()
	for i := range v.NumField() {
		p := parameterOf(v.Type().Field(i))
		var given []string
		switch p.in {
		case inPath:
			given = []string{r.PathValue(p.name)}
		case inQuery:
			given = query[p.name]
			delete(query, p.name)
		case inHeader:
			given = r.Header.Values(p.name)
		default:
			err = decode(r, v.Field(i).Addr().Interface())
		}
		if host, ok := v.Field(i).Addr().Interface().(*Host); ok {
			*host, err = s.host(given[0], v.Type().Field(i).Tag.Get("instances") != "")
		} else if p.in != inBody {
			err = p.set(v.Field(i), given)
		}
		if err != nil {
			return in, err
		}
	}
	for name := range query {
		return in, invalid(fmt.Sprintf("this request has no parameter %q", name))
	}
	return in, nil
}

// The places of a parameter.
const (
	inPath   = "path"
	inQuery  = "query"
	inHeader = "header"
	inBody   = ""
)

// parameter is a field of the input of an operation.
type parameter struct {
	in, name string
	doc      string
	required bool
	enum     []string // nil: any
	max      uint64   // 0: none
}

func parameterOf(f reflect.StructField) parameter {
	p := parameter{doc: f.Tag.Get("doc"), required: f.Tag.Get("required") != ""}
	for _, in := range []string{inPath, inQuery, inHeader} {
		if name, ok := f.Tag.Lookup(in); ok {
			p.in, p.name, p.required = in, name, p.required || in == inPath
		}
	}
	if list := f.Tag.Get("enum"); list != "" {
		p.enum = strings.Split(list, ",")
	}
	p.max, _ = strconv.ParseUint(f.Tag.Get("max"), 10, 64) // 0 without a tag
	return p
}

// set puts the given values into a field.
func (p parameter) set(v reflect.Value, given []string) error {
	if v.Kind() == reflect.Slice {
		v.Set(reflect.ValueOf(given))
		return nil
	}
	given = slices.DeleteFunc(slices.Clone(given), func(s string) bool { return s == "" && p.in != inPath })
	switch {
	case len(given) > 1:
		return invalid(p.name + " is given more than once")
	case len(given) == 0 && p.required:
		return invalid(p.name + " is missing: it is " + p.expected(v.Kind()))
	case len(given) == 0:
		return nil
	}
	text, err := given[0], error(nil)
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
		if p.enum != nil && !slices.Contains(p.enum, text) {
			err = errors.New("no such word")
		}
	case reflect.Bool:
		var b bool
		b, err = strconv.ParseBool(text)
		v.SetBool(b)
	case reflect.Int:
		var n uint64
		if n, err = strconv.ParseUint(text, 10, 31); err == nil && p.max > 0 && n > p.max {
			err = strconv.ErrRange
		}
		v.SetInt(int64(n))
	case reflect.Uint64:
		var n uint64
		n, err = strconv.ParseUint(text, 10, 64)
		v.SetUint(n)
	default:
		return fmt.Errorf("parameter %s has a field of kind %s", p.name, v.Kind())
	}
	if err != nil {
		return invalid(fmt.Sprintf("%s is %s, not %q", p.name, p.expected(v.Kind()), text))
	}
	return nil
}

// expected describes the values of a parameter.
func (p parameter) expected(k reflect.Kind) string {
	switch {
	case p.enum != nil:
		return "one of " + strings.Join(p.enum, ", ")
	case k == reflect.Bool:
		return "true or false"
	case p.max > 0:
		return fmt.Sprintf("a number from 0 to %d", p.max)
	case k == reflect.String:
		return "a text"
	}
	return "a number"
}
