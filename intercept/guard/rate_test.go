package guard

import (
	"errors"
	"testing"
	"time"
)

func TestParseRate(t *testing.T) {
	for text, want := range map[string]Rate{
		"100/s": {100, time.Second}, " 6 / m ": {6, time.Minute}, "1/h": {1, time.Hour}, "1000000/s": {1000000, time.Second},
	} {
		got, err := ParseRate(text)
		if err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
		if again, err := ParseRate(got.String()); err != nil || again != want {
			t.Errorf("%q: %v, %v", got, again, err)
		}
	}
	for _, text := range []string{"", "100", "/s", "0/s", "-1/s", "1.5/s", "1/d", "1/s/s", "1000001/s", "99999999999999999999/s"} {
		if got, err := ParseRate(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
	if s := (Rate{3, 2 * time.Second}).String(); s != "3 in 2s" {
		t.Error(s)
	}
}

func TestLimiter(t *testing.T) {
	now := time.Now()
	l := NewLimiter(Rate{10, time.Second})
	for i := range 10 {
		if err := l.Check(now); err != nil {
			t.Fatal(i, err)
		}
	}
	// However often it asks, what is refused costs nothing.
	for range 1000 {
		var limited *RateError
		err := l.Check(now)
		if !errors.As(err, &limited) || !errors.Is(err, ErrRateLimited) || limited.After != 100*time.Millisecond {
			t.Fatalf("%v", err)
		}
	}
	if err := l.Check(now); err.Error() != "too many requests: limit 10/s; the next in 100ms" {
		t.Error(err)
	}
	now = now.Add(350 * time.Millisecond)
	for i, want := range []bool{true, true, true, false} {
		if err := l.Check(now); (err == nil) != want {
			t.Errorf("%d: %v", i, err)
		}
	}
	// It fills to the brim and not over it.
	now = now.Add(time.Hour)
	n := 0
	for l.Check(now) == nil {
		n++
	}
	if n != 10 {
		t.Errorf("%d after an hour", n)
	}
	standard := NewLimiter(Rate{})
	for n = 0; standard.Check(now) == nil; n++ {
	}
	if n != 100 {
		t.Errorf("%d at once where nothing was said", n)
	}
}
