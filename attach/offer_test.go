package attach

import (
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
)

func TestOfferDiffers(t *testing.T) {
	for _, test := range []struct{ before, now, want string }{
		{`{}`, `{}`, ""},
		{`{"textDocumentSync":2}`, `{"textDocumentSync":1}`, ""},
		{`{"textDocumentSync":1}`, `{"textDocumentSync":{"openClose":true,"change":2}}`, ""},
		{`{"textDocumentSync":2}`, `{"textDocumentSync":0}`, "documents"},
		{`{}`, `{"textDocumentSync":1}`, "documents"},
		{`{"textDocumentSync":{"openClose":true}}`, `{"textDocumentSync":{"openClose":true,"change":1}}`, "documents"},
		{`{"textDocumentSync":{"openClose":true,"change":1,"save":true}}`, `{"textDocumentSync":{"openClose":true,"change":1,"save":{"includeText":true}}}`, "saved"},
		{`{"textDocumentSync":{"openClose":true,"change":1,"save":{"includeText":true}}}`, `{"textDocumentSync":{"openClose":true,"change":1}}`, ""},
		{`{"positionEncoding":"utf-16"}`, `{}`, ""},
		{`{"positionEncoding":"utf-8"}`, `{}`, "in utf-16 and not in utf-8"},
		{`{}`, `{"positionEncoding":"utf-32"}`, "in utf-32 and not in utf-16"},
		{`{"hoverProvider":true}`, `{"hoverProvider":{}}`, ""},
		{`{"hoverProvider":true}`, `{"hoverProvider":true,"renameProvider":true}`, ""},
		{`{"hoverProvider":true}`, `{"hoverProvider":false}`, "hoverProvider"},
		{`{"hoverProvider":false,"experimental":{"x":1}}`, `{}`, ""},
		{`{"semanticTokensProvider":{"legend":{"a":[1],"b":[]}}}`, `{"semanticTokensProvider":{"legend":{"b":[],"a":[1]},"full":true}}`, ""},
		{`{"semanticTokensProvider":{"legend":{"a":[1]}}}`, `{"semanticTokensProvider":{"legend":{"a":[2]}}}`, "legend"},
		{`{"semanticTokensProvider":{"legend":{"a":[1]}}}`, `{"semanticTokensProvider":true}`, "legend"},
		{`[]`, `{}`, ""},
	} {
		got := offerOf(codec.Raw(`{"capabilities":` + test.before + `}`)).differs(offerOf(codec.Raw(`{"capabilities":` + test.now + `}`)))
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s, then %s: %q, want %q", test.before, test.now, got, test.want)
		}
	}
}

func TestEncodings(t *testing.T) {
	params := codec.Raw(`{"capabilities":{"general":{"positionEncodings":["utf-8","utf-32"],"x":1}},"y":2}`)
	if got := named(params); !slices.Equal(got, []string{"utf-8", "utf-32"}) {
		t.Error(got)
	}
	for list, want := range map[string]string{`["utf-8","utf-16"]`: `["utf-16"]`, `["utf-8"]`: `["utf-8"]`} {
		raw := `{"capabilities":{"general":{"positionEncodings":` + list + `}}}`
		if got := string((lsp{}).opening(codec.Raw(raw))); got != strings.Replace(raw, list, want, 1) {
			t.Errorf("a host is opened with %s for %s", got, raw)
		}
	}
	if got := string(pinned(params, "utf-8")); got != `{"capabilities":{"general":{"positionEncodings":["utf-8"],"x":1}},"y":2}` {
		t.Error(got)
	}
	for _, raw := range []string{`{}`, `{"capabilities":{"general":{}}}`, `[]`, `{"positionEncodings":[]}`} {
		if got := string(pinned(codec.Raw(raw), "utf-8")); got != raw {
			t.Errorf("%s became %s", raw, got)
		}
	}
	result := codec.Raw(`{"capabilities":{"positionEncoding":"utf-8"}}`)
	if err := unspoken("ls", params, result); err != nil {
		t.Error(err)
	}
	if err := unspoken("ls", codec.Raw(`{}`), result); err == nil || !strings.Contains(err.Error(), "utf-8") {
		t.Error(err)
	}
	if err := unspoken("ls", codec.Raw(`3`), codec.Raw(`{}`)); err != nil {
		t.Error(err)
	}
}

func TestSameOpening(t *testing.T) {
	const have = `{"rootUri":"file:///a","capabilities":{"x":{"a":1,"b":2}},"initializationOptions":3,"clientInfo":{"name":"e"}}`
	for _, test := range []struct {
		params string
		same   bool
	}{
		{have, true},
		{`{"processId":7,"trace":"off","workDoneToken":1,"rootPath":"/a","rootUri":"file:///a/","capabilities":{"x":{"b":2,"a":1}},"initializationOptions":3,"clientInfo":{"name":"e"}}`, true},
		{strings.Replace(have, `"b":2`, `"b":3`, 1), false},
		{strings.Replace(have, `:3`, `:4`, 1), false},
		{strings.Replace(have, `"e"`, `"f"`, 1), false},
		{strings.Replace(have, `///a`, `///b`, 1), false},
		{`null`, false},
		{strings.Replace(have, `"capabilities":{`, `"capabilities":{"general":{"positionEncodings":["utf-8","utf-16"]},`, 1), false},
	} {
		if same := (lsp{}).sameOpening(codec.Raw(have), codec.Raw(test.params)); same != test.same {
			t.Errorf("%s: %v", test.params, same)
		}
	}
}
