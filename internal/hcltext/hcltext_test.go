package hcltext

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclwrite"
)

// hclwrite must leave the text unchanged.
func TestWriterFormatsLikeHCLWrite(t *testing.T) {
	var w Writer
	w.Line("# A comment.")
	w.Line("")
	w.Open(`host "ä"`)
	w.Set("a", "1", "")
	w.Set("longer", `"x # = {"`, "why")
	w.Set("longest_of_all", "[1, 2]", "why not")
	w.List("short", []string{`"a"`, `"b"`})
	w.List("wide", []string{`"` + strings.Repeat("x", 60) + `"`, `"` + strings.Repeat("y", 60) + `"`})
	w.Set("after", "true", "")
	w.Open("env =")
	w.Set(`"for"`, `"\t"`, "")
	w.Set("B", `"é"`, "said")
	w.Close()
	w.Set("z", "0", "")
	w.Open("start")
	w.Close()
	w.Close()
	const want = `# A comment.

host "ä" {
  a              = 1
  longer         = "x # = {" # why
  longest_of_all = [1, 2]    # why not
  short          = ["a", "b"]
  wide = [
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy",
  ]
  after = true
  env = {
    "for" = "\t"
    B     = "é" # said
  }
  z = 0
  start {
  }
}
`
	got := w.String()
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if formatted := string(hclwrite.Format([]byte(got))); formatted != got {
		t.Errorf("hclwrite formats it as\n%s", formatted)
	}
}
