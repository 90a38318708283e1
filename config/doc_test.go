package config

import (
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
	if !strings.Contains(string(doc), ReferenceTable()) {
		t.Error("docs/configuration.md does not hold the table of testdata/reference.md; copy it there")
	}
}
