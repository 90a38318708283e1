package config

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestDocumentedReference holds docs/configuration.md to the tables that read
// the file.
func TestDocumentedReference(t *testing.T) {
	doc, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(doc), referenceTable()) {
		t.Error("docs/configuration.md does not hold the table of testdata/reference.md; copy it there")
	}
}

// referenceTable renders [Reference] as a table in Markdown.
func referenceTable() string {
	var b strings.Builder
	b.WriteString("| setting | default | takes | what it is for |\n|---|---|---|---|\n")
	for _, s := range Reference() {
		def := s.Default
		if def != "" {
			def = "`" + def + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.Path, def, s.Expect, s.Doc)
	}
	return b.String()
}
