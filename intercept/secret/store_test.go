package secret

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// drawer is a source in memory that keeps what it has handed out.
type drawer struct {
	mu    sync.Mutex
	all   map[string]string
	given [][]byte
	reads int
	err   error
	block chan struct{}
}

func (d *drawer) Get(name string) ([]byte, error) {
	if d.block != nil {
		<-d.block
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reads++
	if d.err != nil {
		return nil, d.err
	}
	v, ok := d.all[name]
	if !ok {
		return nil, ErrNotFound
	}
	b := []byte(v)
	d.given = append(d.given, b)
	return b, nil
}

func (d *drawer) Set(name string, v []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return d.err
	}
	d.all[name] = string(v)
	return nil
}

func (d *drawer) Delete(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.all[name]; !ok {
		return ErrNotFound
	}
	delete(d.all, name)
	return nil
}

func (d *drawer) List() ([]string, error) {
	var out []string
	for name := range d.all {
		out = append(out, name)
	}
	return out, d.err
}

func (d *drawer) Where() string { return "a drawer" }

func (d *drawer) wiped(t *testing.T, n int) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, b := range d.given[:n] {
		if !bytes.Equal(b, make([]byte, len(b))) {
			t.Errorf("%q is still in memory", b)
		}
	}
}

func open(d *drawer) *Store { return Open(d, 5*time.Minute) }

func want(t *testing.T, s *Store, get func(context.Context, string) ([]byte, error), value string) []byte {
	t.Helper()
	v, err := get(t.Context(), "github")
	if err != nil || string(v) != value {
		t.Fatalf("%q, %v; want %q", v, err, value)
	}
	return v
}

// A value is remembered for its time, then wiped; so is one that is replaced,
// and all of them when the store is closed.
func TestCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &drawer{all: map[string]string{"github": "value one"}}
		s := open(d)
		own := want(t, s, s.Get, "value one")
		Wipe(own)                               // the caller's, not the store's
		time.Sleep(5*time.Minute - time.Second) //nolint:forbidigo // in a bubble, whose clock moves by itself
		want(t, s, s.Get, "value one")
		if d.reads != 1 {
			t.Errorf("read %d times", d.reads)
		}
		d.all["github"] = "value two"
		want(t, s, s.Get, "value one")
		time.Sleep(2 * time.Second) //nolint:forbidigo // in a bubble, whose clock moves by itself
		synctest.Wait()
		d.wiped(t, 1)
		want(t, s, s.Get, "value two")

		d.all["github"] = "value three"
		want(t, s, s.Fresh, "value three")
		d.wiped(t, 2) // the second was replaced
		want(t, s, s.Get, "value three")

		// What cannot be read at the moment is remembered.
		d.err = ErrLocked
		want(t, s, s.Fresh, "value three")
		time.Sleep(6 * time.Minute) //nolint:forbidigo // in a bubble, whose clock moves by itself
		synctest.Wait()
		if v, err := s.Fresh(t.Context(), "github"); !errors.Is(err, ErrLocked) {
			t.Errorf("%q, %v", v, err)
		}

		d.err = nil
		want(t, s, s.Get, "value three")
		if err := s.Set(t.Context(), "github", []byte("value four")); err != nil {
			t.Fatal(err)
		}
		want(t, s, s.Get, "value four")
		d.all["github"] = "value five"
		want(t, s, s.Fresh, "value five")
		s.Close()
		s.Close()
		d.wiped(t, len(d.given))
		if v, err := s.Get(t.Context(), "github"); !errors.Is(err, ErrClosed) {
			t.Errorf("%q, %v", v, err)
		}
		if err := s.Set(t.Context(), "github", []byte("value six")); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}

// What is gone is not remembered.
func TestGone(t *testing.T) {
	d := &drawer{all: map[string]string{"github": "value one", "b": "value b"}}
	s := open(d)
	defer s.Close()
	want(t, s, s.Get, "value one")
	if names, err := s.List(t.Context()); err != nil || !slices.Equal(names, []string{"b", "github"}) {
		t.Errorf("%q, %v", names, err)
	}
	if err := s.Delete(t.Context(), "github"); err != nil {
		t.Fatal(err)
	}
	for _, get := range []func(context.Context, string) ([]byte, error){s.Get, s.Fresh} {
		v, err := get(t.Context(), "github")
		var e *Error
		if !errors.Is(err, ErrNotFound) || !errors.As(err, &e) || e.Name != "github" || e.Where != "a drawer" || e.Op != "read" || v != nil {
			t.Errorf("%q, %v", v, err)
		}
		if got := err.Error(); got != `read secret "github" in a drawer: no such secret` {
			t.Error(got)
		}
	}
	if err := s.Delete(t.Context(), "github"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	d.wiped(t, 1)

	want2 := func(f func() error, is error) {
		t.Helper()
		if err := f(); !errors.Is(err, is) {
			t.Errorf("%v, want %v", err, is)
		}
	}
	want2(func() error { _, err := s.Get(t.Context(), "no way"); return err }, ErrName)
	want2(func() error { _, err := s.Fresh(t.Context(), ""); return err }, ErrName)
	want2(func() error { return s.Delete(t.Context(), ".names") }, ErrName)
	want2(func() error { return s.Set(t.Context(), "x", []byte("123")) }, ErrValue)
	want2(func() error { return s.Set(t.Context(), "x", bytes.Repeat([]byte("1"), MaxValue+1)) }, ErrValue)
	want2(func() error { return s.Set(t.Context(), "x", []byte("12\x00345")) }, ErrValue)
	d.all["short"] = "1"
	want2(func() error { _, err := s.Get(t.Context(), "short"); return err }, ErrValue)
}

// A source that does not answer is waited for as long as the caller has time,
// and a minute at most.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &drawer{all: map[string]string{"github": "value one"}, block: make(chan struct{})}
		s := open(d)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		if _, err := s.Get(ctx, "github"); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		begin = time.Now() // the turn is still the first one's
		if _, err := s.Get(t.Context(), "github"); !errors.Is(err, ErrTimeout) || time.Since(begin) != patience {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		s.Close()
		close(d.block)
		synctest.Wait()
		d.wiped(t, 1) // it came too late, to a store that is closed
	})
}

func TestConcurrent(t *testing.T) {
	s := open(&drawer{all: map[string]string{"github": "value one"}})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				if v, err := s.Get(t.Context(), "github"); err != nil || !strings.HasPrefix(string(v), "value") {
					t.Errorf("%q, %v", v, err)
				}
				if _, err := s.Fresh(t.Context(), "github"); err != nil {
					t.Error(err)
				}
				if err := s.Set(t.Context(), "github", []byte("value two")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	s.Close()
}

func TestText(t *testing.T) {
	text := Text{{Words: `Bearer "x" ${y} `}, {Secret: "a"}, {Secret: "b"}, {Secret: "a"}}
	if got := text.String(); got != `"Bearer \"x\" $${y} ${secret("a")}${secret("b")}${secret("a")}"` {
		t.Error(got)
	}
	if got := Reference("a").String(); got != `secret("a")` {
		t.Error(got)
	}
	if got := text.Names(); !slices.Equal(got, []string{"a", "b"}) {
		t.Error(got)
	}
	var given [][]byte
	value := func(name string) ([]byte, error) {
		v := []byte("<" + name + ">")
		given = append(given, v)
		return v, nil
	}
	got, err := text.Fill(value)
	if err != nil || string(got) != `Bearer "x" ${y} <a><b><a>` {
		t.Errorf("%q, %v", got, err)
	}
	for _, v := range given {
		if !bytes.Equal(v, make([]byte, len(v))) {
			t.Errorf("%q is left", v)
		}
	}
	if _, err := text.Fill(func(string) ([]byte, error) { return nil, ErrLocked }); !errors.Is(err, ErrLocked) {
		t.Error(err)
	}
	for _, bad := range []Text{nil, {{Words: "x"}}, {{Secret: "no way"}}, {{Secret: "a"}, {Words: "\x00"}}} {
		if bad.Validate() == nil {
			t.Errorf("%v is taken", bad)
		}
	}
	if err := text.Validate(); err != nil {
		t.Error(err)
	}
}
