package documents

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Each placeholder has the one before it twice: a few hundred bytes stand for 2^60.
func TestASnippetThatGrowsWithoutBound(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("${1:aaaaaaaa}")
	for n := 2; n <= 60; n++ {
		fmt.Fprintf(&b, "${%d:$%d$%[2]d}", n, n-1)
	}
	if _, err := snippet(b.String(), nil); !errors.Is(err, ErrTooLarge) {
		t.Errorf("numbers: %v", err)
	}
	if _, err := snippet(strings.Repeat("$TM_SELECTED_TEXT", 100), map[string]string{"TM_SELECTED_TEXT": strings.Repeat("x", 1<<20)}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("variables: %v", err)
	}
	if _, err := indented(strings.Repeat("\n", 1<<20), strings.Repeat(" ", 1<<20)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("indentation: %v", err)
	}
}
