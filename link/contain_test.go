package link

import (
	"errors"
	"strings"
	"testing"
)

func TestContain(t *testing.T) {
	if err := Contain(func() error { return nil }); err != nil {
		t.Error(err)
	}
	own := errors.New("own")
	if err := Contain(func() error { return own }); !errors.Is(err, own) {
		t.Error(err)
	}
	err := Contain(func() error { panic("boom") })
	var d *PanicError
	if !errors.As(err, &d) || err.Error() != "panic: boom" || !strings.Contains(string(d.Stack), "TestContain") {
		t.Errorf("%v", err)
	}
}
