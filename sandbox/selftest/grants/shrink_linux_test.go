//go:build !hostsup_posix

package grants

import "slices"

// shrink leaves out of a case what it fails without too. It runs at most so many
// smaller ones.
func shrink(c *testCase, tries int, fails func(*testCase) bool) *testCase {
	for smaller := true; smaller; {
		smaller = false
		for i := 0; ; i++ {
			next := c.without(i)
			if next == nil {
				break
			}
			if tries--; tries < 0 {
				return c
			}
			if fails(next) {
				c, smaller = next, true
				i--
			}
		}
	}
	return c
}

// without is a copy of the case that lacks its n-th part; nil when it has fewer.
func (c *testCase) without(n int) *testCase {
	next := c.copy()
	cut := func(length int) (int, bool) {
		if n < length {
			return n, true
		}
		n -= length
		return 0, false
	}
	if len(c.lives) > 1 {
		if i, ok := cut(len(c.lives)); ok {
			next.lives = slices.Delete(next.lives, i, i+1)
			return next
		}
	}
	for l := range next.lives {
		life := &next.lives[l]
		if _, ok := cut(min(len(life.beside), 1)); ok {
			life.beside = nil
			return next
		}
		for _, steps := range []*[]step{&life.steps, &life.beside} {
			if i, ok := cut(len(*steps)); ok {
				*steps = slices.Delete(*steps, i, i+1)
				return next
			}
		}
	}
	for p := range next.policies {
		r := &next.policies[p]
		for _, l := range r.lists() {
			if i, ok := cut(len(*l.list)); ok {
				*l.list = slices.Delete(*l.list, i, i+1)
				return next
			}
		}
		if r.work != "" {
			if _, ok := cut(1); ok {
				r.work, r.keep = "", false
				return next
			}
		}
	}
	if i, ok := cut(len(next.tree)); ok {
		next.tree = slices.Delete(next.tree, len(next.tree)-1-i, len(next.tree)-i)
		return next
	}
	return nil
}

func (c *testCase) copy() *testCase {
	next := *c
	next.tree = slices.Clone(c.tree)
	for i := range next.policies {
		for _, l := range next.policies[i].lists() {
			*l.list = slices.Clone(*l.list)
		}
	}
	next.lives = slices.Clone(c.lives)
	for i := range next.lives {
		next.lives[i].steps = slices.Clone(next.lives[i].steps)
		next.lives[i].beside = slices.Clone(next.lives[i].beside)
	}
	return &next
}
