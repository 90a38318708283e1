package glob

import (
	"errors"
	"slices"
	"testing"
)

// Short patterns stand for 10,000 ones each: a list of them must not stand for a billion.
func TestManyPatterns(t *testing.T) {
	t.Parallel()
	const digits = "{0,1,2,3,4,5,6,7,8,9}"
	one := "a?" + digits + digits + digits + digits
	if _, err := Any(one); err != nil {
		t.Fatal(err)
	}
	if _, err := Any(slices.Repeat([]string{one}, 100_000)...); !errors.Is(err, ErrPattern) {
		t.Errorf("%v", err)
	}
	if _, err := Any(slices.Repeat([]string{"a?"}, 50_000)...); err != nil {
		t.Errorf("without braces: %v", err)
	}
}
