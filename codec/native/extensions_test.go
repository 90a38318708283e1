package native_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
	"github.com/hostsup/hostsup/codec/native"
)

// What one side says of extensions the other one hears, within the bound.
func TestAnnounced(t *testing.T) {
	for name, list := range map[string][]codec.Announced{
		"none": {}, "one": {{ID: "a.b", Version: "1", Events: []string{"*"}, DependsOn: []string{"c.d"}, Methods: []string{"m", "n"}}},
		"most": make([]codec.Announced, native.MaxExtensions),
	} {
		t.Run(name, func(t *testing.T) {
			for i := range list {
				for _, in := range []*[]string{&list[i].Events, &list[i].DependsOn, &list[i].Methods} {
					if *in == nil {
						*in = []string{}
					}
				}
			}
			out, err := answers(list)
			got, ok := out.Announced()
			if diff := cmp.Diff(list, got); err != nil || !ok || diff != "" {
				t.Errorf("%v, %t\n%s", err, ok, diff)
			}
		})
	}
	out, err := answers(make([]codec.Announced, native.MaxExtensions+1))
	if err == nil || !strings.Contains(err.Error(), "1001 of them, 1000 at most") {
		t.Errorf("%v", err)
	}
	if list, ok := out.Announced(); ok || list != nil {
		t.Errorf("%d are known of an answer that was refused", len(list))
	}
}

// What extensions have to do with each other is bounded as well.
func TestAnnouncedNames(t *testing.T) {
	names := make([]string, native.MaxAnnouncedNames/2)
	list := []codec.Announced{{ID: "a.b", Events: names}, {ID: "a.c", DependsOn: names}}
	if out, err := answers(list); err != nil {
		t.Error(err)
	} else if got, ok := out.Announced(); !ok || len(got) != 2 {
		t.Errorf("%d, %t", len(got), ok)
	}
	list[1].Methods = []string{"one more"}
	if _, err := answers(list); err == nil || !strings.Contains(err.Error(), "over 10000 events, dependencies and methods") {
		t.Error(err)
	}
}

// answers opens a connection to a host with extensions.
func answers(list []codec.Announced) (*native.Session, error) {
	sup, host := native.Open(codec.Limits{}), native.Open(codec.Limits{})
	hs := sup.Handshake(codec.Hello{Extended: true})
	out, _ := hs.Start()
	out, _, err := host.Accept(native.Self{Caps: codec.CapExtensions, Extensions: list}).Handle(&out[0])
	if err == nil {
		_, _, err = hs.Handle(&out[0])
	}
	return sup, err
}

// The types say what the page of the protocol says.
func TestExtensionMessages(t *testing.T) {
	uncaught := native.Uncaught{ID: "a.b"}
	uncaught.Error.Name, uncaught.Error.Message, uncaught.Error.Stack = "n", "m", "s"
	for want, v := range map[string]any{
		`{"id":"a.b","event":"e","startup":true}`:                     native.Activate{ID: "a.b", Event: "e", Startup: true},
		`{"took_ms":1.5}`:                                             native.Activated{TookMS: 1.5},
		`{"id":"a.b","timeout_ms":5000}`:                              native.Deactivate{ID: "a.b", TimeoutMS: 5000},
		`{"id":"a.b","event":"e"}`:                                    native.Need{ID: "a.b", Event: "e"},
		`{"id":"a.b","error":{"name":"n","message":"m","stack":"s"}}`: uncaught,
	} {
		raw, err := mpack.Encoding{}.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := (mpack.Encoding{}).ToJSON(raw); err != nil || string(got) != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
}
