package workbench

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/hostsup/hostsup/codec"
)

func TestArgs(t *testing.T) {
	c := &Call{Method: "M.$m", params: codec.Raw(`["a",{"$undefined":true},{"$object":{"b":{"$buffer":"aGk="}}},{"$buffer":"aGk="}]`)}
	var a, missing, more string
	missing = "unchanged"
	var b struct{ B Bytes }
	var d Bytes
	if err := c.Args(&a, &missing, &b, &d, &more); err != nil {
		t.Fatal(err)
	}
	if a != "a" || missing != "unchanged" || string(b.B) != "hi" || string(d) != "hi" || more != "" {
		t.Errorf("%q %q %q %q %q", a, missing, b.B, d, more)
	}
	var n int
	err := c.Args(&n)
	var e *codec.Error
	if !errors.As(err, &e) || e.Name != codec.NameInvalidParams {
		t.Errorf("%v", err)
	}
	if err := c.Args(nil, nil, nil, &d); err != nil {
		t.Error(err)
	}
	c = &Call{params: codec.Raw(`[{"$object":{"a":{"$undefined":true},"b":"{\"$undefined\":true}"}}]`)}
	if got := string(c.Raw(0)); got != `{"a":null,"b":"{\"$undefined\":true}"}` {
		t.Error(got)
	}
	c = &Call{params: codec.Raw(`["a"]`)}
	if err := c.Args(&d); err == nil {
		t.Error("a text was taken for bytes")
	}
}

func TestBytes(t *testing.T) {
	for _, b := range []Bytes{nil, {}, Bytes("hi\x00")} {
		raw, err := json.Marshal(b)
		var back Bytes
		if err != nil || json.Unmarshal(raw, &back) != nil || string(back) != string(b) {
			t.Errorf("%s, %v", raw, err)
		}
	}
}

func TestURI(t *testing.T) {
	for path, want := range map[string]string{"/a b/ü#?.txt": "file:///a%20b/%C3%BC%23%3F.txt", "//server/x": "file://server/x"} {
		u := File(path)
		if u.String() != want {
			t.Errorf("%s, want %s", u, want)
		}
		if back, ok := u.FilePath(); !ok || back != path && path[:2] != "//" {
			t.Errorf("%q, %v", back, ok)
		}
	}
	if text := (URI{Scheme: "untitled", Path: "Untitled-1"}).String(); text != "untitled:Untitled-1" {
		t.Error(text)
	}
	for _, u := range []URI{{Scheme: "untitled", Path: "/a"}, {Scheme: "file"}, {Scheme: "file", Path: "/a\x00"}, {Scheme: "file", Path: "a"}} {
		if path, ok := u.FilePath(); ok {
			t.Errorf("%v is %q", u, path)
		}
	}
	if path, ok := (URI{Scheme: LogScheme, Path: "/logs/a"}).FilePath(); !ok || path != "/logs/a" {
		t.Errorf("a folder for logs is at %q, %v", path, ok)
	}
	raw, err := json.Marshal(File("/a"))
	if string(raw) != `{"$mid":1,"scheme":"file","path":"/a"}` || err != nil {
		t.Errorf("%s, %v", raw, err)
	}
}

type named map[string]Method

func (n named) Methods() map[string]Method { return n }

func TestServicesMustNotOverlap(t *testing.T) {
	now := Method{Now: func(*Call) (any, error) { return nil, nil }}
	for _, wrong := range [][]Service{{named{"A.$b": now}, named{"A.$b": now}}, {named{"A.$b": {}}}, {named{"A.$b": {Now: now.Now, Begin: func(*Call) func(context.Context) (any, error) { return nil }}}}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v was taken", wrong)
				}
			}()
			New(wrong...)
		}()
	}
	if w := New(named{"A.$b": now}); len(w.Answering()) != 1 || Find[named](w) == nil {
		t.Error("a service is missing")
	}
}
