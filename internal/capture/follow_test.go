package capture

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Options{})
		for i := range 5 {
			say(l, 1, fmt.Sprintf("old %d\n", i))
		}
		var got []Line
		go func() {
			for ln := range l.Follow(t.Context(), 2) {
				got = append(got, ln)
			}
			got = append(got, Line{Text: "end"})
		}()
		synctest.Wait()
		if d := cmp.Diff([]string{"old 3", "old 4"}, texts(got)); d != "" {
			t.Fatalf("at first (-want +got)\n%s", d)
		}
		say(l, 1, "new\nlines\n")
		synctest.Wait()
		say(l, 2, "next life\n")
		l.Close()
		synctest.Wait()
		if d := cmp.Diff([]string{"old 3", "old 4", "new", "lines", "next life", "end"}, texts(got)); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
		for _, ln := range got {
			if ln.Lost != 0 {
				t.Errorf("lost before %q: %d", ln.Text, ln.Lost)
			}
		}
	})
}

func TestFollowEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Options{})
		defer l.Close()
		ctx, cancel := context.WithCancel(t.Context())
		ended := false
		go func() {
			for range l.Follow(ctx, 10) {
			}
			ended = true
		}()
		synctest.Wait()
		if ended {
			t.Fatal("ended before its context")
		}
		cancel()
		synctest.Wait()
		if !ended {
			t.Fatal("did not end with its context")
		}
		if l.followers != 0 {
			t.Errorf("%d followers are left", l.followers)
		}
		for range l.Follow(ctx, 10) {
			t.Error("a line after the end")
		}
	})
}

// A follower that sleeps must not block anything, and must learn what it missed.
func TestFollowerFallsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Options{Ring: 10, Backlog: 100})
		read := make(chan struct{})
		var got []Line
		go func() {
			for ln := range l.Follow(t.Context(), 0) {
				got = append(got, ln)
				<-read
			}
		}()
		synctest.Wait()
		for i := range 1000 {
			say(l, 1, fmt.Sprintf("%d\n", i+1))
			if i == 0 {
				synctest.Wait() // it has the first line, and does not come back
			}
		}
		close(read)
		synctest.Wait()
		l.Close()
		synctest.Wait()
		if len(got) != 101 || got[0].Text != "1" || got[0].Lost != 0 {
			t.Fatalf("%d lines, the first %+v", len(got), got[0])
		}
		if got[1].Text != "901" || got[1].Lost != 899 {
			t.Errorf("after the pause: %+v, want line 901 after 899 lost ones", got[1])
		}
		var sum uint64
		for _, ln := range got {
			sum += 1 + ln.Lost
		}
		if sum != l.Lines() {
			t.Errorf("seen and lost are %d of %d", sum, l.Lines())
		}
		if got := len(l.Tail(1000)); got != 10 {
			t.Errorf("%d lines stay in memory without a follower, want 10", got)
		}
	})
}

// A follower that requests more lines than memory holds gets them from the files.
func TestFollowFromFiles(t *testing.T) {
	l := New(Options{Dir: t.TempDir(), Name: "x", Ring: 5})
	for i := range 100 {
		say(l, 1, fmt.Sprintf("%d\n", i+1))
	}
	want := 51
	for ln := range l.Follow(t.Context(), 50) {
		if ln.Text != fmt.Sprint(want) || ln.Seq != uint64(want) || ln.Lost != 0 {
			t.Fatalf("got %+v, want line %d", ln, want)
		}
		switch want {
		case 100:
			say(l, 1, "101\n")
		case 101:
			l.Close()
		}
		want++
	}
	if want != 102 {
		t.Errorf("ended before line %d", want)
	}
}

// Each of many followers that read at their own speed, beside a host that does not
// wait, must see every line or a count of those it missed.
func TestManyFollowers(t *testing.T) {
	l := New(Options{Backlog: 300})
	sums := make(chan uint64)
	const followers, lines = 8, 20000
	for i := range followers {
		go func() {
			var sum, seq uint64
			for ln := range l.Follow(t.Context(), 0) {
				if ln.Seq <= seq {
					t.Errorf("line %d after %d", ln.Seq, seq)
				}
				if seq == 0 {
					sum = ln.Seq - ln.Lost - 1 // what there was before it came
				}
				seq = ln.Seq
				sum += 1 + ln.Lost
				if i%2 == 0 && seq%100 == 0 {
					l.Tail(100)
				}
			}
			sums <- sum
		}()
	}
	until(t, "followers", func() bool { l.mu.Lock(); defer l.mu.Unlock(); return l.followers == followers })
	for i := range lines {
		say(l, uint64(i/1000), fmt.Sprintf("%d\n", i))
	}
	l.Close()
	for range followers {
		if sum := <-sums; sum != lines {
			t.Errorf("seen and lost are %d of %d", sum, lines)
		}
	}
}

// A reader goes on after the line that it has, and what memory holds meanwhile is its choice.
func TestAfter(t *testing.T) {
	for backlog, kept := range map[bool]int{false: 10, true: 100} {
		synctest.Test(t, func(t *testing.T) {
			l := New(Options{Ring: 10, Backlog: 100})
			for i := range 5 {
				say(l, 1, fmt.Sprintf("%d\n", i+1))
			}
			past, err := l.History(3)
			if err != nil || len(past) != 3 {
				t.Fatal(past, err)
			}
			say(l, 1, "6\n")
			read := make(chan struct{})
			var got []Line
			go func() {
				for ln := range l.After(t.Context(), past[2].Seq, backlog) {
					got = append(got, ln)
					<-read
				}
			}()
			synctest.Wait()
			for i := range 1000 {
				say(l, 1, fmt.Sprintf("%d\n", i+7))
			}
			close(read)
			synctest.Wait()
			l.Close()
			synctest.Wait()
			if len(got) != 1+kept || got[0].Text != "6" || got[0].Lost != 0 || got[1].Lost != uint64(1000-kept) {
				t.Fatalf("backlog %v: %d lines, %+v", backlog, len(got), got[:min(2, len(got))])
			}
		})
	}
}
