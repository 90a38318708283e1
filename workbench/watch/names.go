package watch

import (
	"hash/fnv"
	"slices"
)

// names is a set of names in a folder, which takes 4 bytes for each. Two names may be taken for one;
// then a file that is made counts as one that is replaced.
type names []uint32

func hash(name string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // never fails
	return h.Sum32()
}

// add reports whether the name is new.
func (n *names) add(name string) bool {
	h := hash(name)
	i, found := slices.BinarySearch(*n, h)
	if !found {
		*n = slices.Insert(*n, i, h)
	}
	return !found
}

// remove reports whether the name was there.
func (n *names) remove(name string) bool {
	i, found := slices.BinarySearch(*n, hash(name))
	if found {
		*n = slices.Delete(*n, i, i+1)
	}
	return found
}
