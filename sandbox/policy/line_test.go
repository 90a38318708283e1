package policy

import "testing"

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"/a b": `"/a b"`, `a"b\`: `"a\"b\\"`, "${x} %{y} $z %": `"$${x} %%{y} $z %"`, "\n\t\r\x01": `"\n\t\r\u0001"`, "é": `"é"`, "a\xffb": `"a�b"`, "\u202e\U000e0001": `"\u202e\U000e0001"`, "$": `"$"`,
	} {
		if got := Quote(in); got != want {
			t.Errorf("%q: %s", in, got)
		}
	}
}
