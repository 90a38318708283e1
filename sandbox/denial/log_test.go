package denial

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

func TestLogCounts(t *testing.T) {
	l := NewLog(2)
	var told []uint64
	stop := l.Follow(func(d Denial) { told = append(told, d.Count) })
	t0 := time.Unix(100, 0)
	l.Add(Denial{Kind: Read, Path: "/a", Source: Landlock, First: t0, Last: t0})
	l.Add(Denial{Kind: Read, Path: "/a", Source: Landlock, First: t0.Add(2), Last: t0.Add(2), Count: 3})
	l.Add(Denial{Kind: Read, Path: "/a", Source: Landlock, First: t0.Add(1), Last: t0.Add(1)})
	l.Add(Denial{Kind: Write, Path: "/a", Source: Landlock})
	l.Add(Denial{Kind: Exec, Path: "/a", Source: Landlock, Count: 5})
	stop()
	stop()
	l.Add(Denial{Kind: Write, Path: "/a", Source: Landlock})
	list := l.List()
	if len(list) != 2 || l.Lost() != 5 {
		t.Fatal(list, l.Lost())
	}
	d := list[0]
	if d.Count != 5 || !d.First.Equal(t0) || !d.Last.Equal(t0.Add(2)) || d.Field != "read" || d.Suggest != `read = ["/a"]` {
		t.Errorf("%+v", d)
	}
	if s := d.String(); s != `read /a (5 times): add to sandbox: read = ["/a"]` {
		t.Error(s)
	}
	if fmt.Sprint(told) != "[1 4 5 1]" {
		t.Error(told)
	}
	list[0].Path = "changed"
	if l.List()[0].Path != "/a" {
		t.Error("List is not a copy")
	}
}

func TestLogIsConcurrent(t *testing.T) {
	l := NewLog(10)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			stop := l.Follow(func(Denial) {})
			for j := range 100 {
				l.Add(Denial{Kind: Read, Path: fmt.Sprint(j % (i + 10))})
				_ = l.List()
			}
			stop()
		})
	}
	wg.Wait()
	sum := l.Lost()
	for _, d := range l.List() {
		sum += d.Count
	}
	if sum != 400 {
		t.Error(sum)
	}
}
