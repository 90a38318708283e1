package install

import (
	"cmp"
	"fmt"
)

// Limits bound what a package may need. Fields that are zero have their defaults.
type Limits struct {
	Packed  int64 // bytes of a .vsix; default 256 MiB
	Size    int64 // bytes of all files when they are unpacked; default 1 GiB
	Entries int   // files and folders, whose list has at most 256 bytes for each; default 50,000
	Ratio   int64 // bytes unpacked for each byte of a .vsix over 16 MiB unpacked; default 100
}

// Defaults returns the limits with their defaults filled in.
func (l Limits) Defaults() Limits {
	return Limits{
		Packed:  cmp.Or(l.Packed, 256<<20),
		Size:    cmp.Or(l.Size, 1<<30),
		Entries: cmp.Or(l.Entries, 50_000),
		Ratio:   cmp.Or(l.Ratio, 100),
	}
}

// free is how many unpacked bytes are allowed whatever the ratio is: small files of one
// repeated byte are no attack.
const free = 16 << 20

// perEntry is how many bytes the list in a .vsix may have for each file and folder, on
// average: 46, the path, and what archivers add.
const perEntry = 256

// directory returns how many bytes of a .vsix may be read for its list of files and folders.
func (l Limits) directory() int64 {
	const end = 128 << 10 // the end of the archive with its comment is searched in 65 KiB
	return min(int64(l.Entries), 1<<40)*perEntry + end
}

// check checks a package of n entries with the sum of their sizes. packed is the size of the
// .vsix; 0: it is a folder.
func (l Limits) check(name string, n int, size, packed int64) error {
	switch {
	case packed > l.Packed:
		return fmt.Errorf("%w: %s: %d bytes, at most %d expected", ErrLimit, name, packed, l.Packed)
	case n > l.Entries:
		return fmt.Errorf("%w: %s: %d files and folders, at most %d expected", ErrLimit, name, n, l.Entries)
	case size > l.Size:
		return fmt.Errorf("%w: %s: more than %d bytes unpacked", ErrLimit, name, l.Size)
	case packed > 0 && size > free && size/l.Ratio > packed:
		return fmt.Errorf("%w: %s: %d bytes unpacked of %d, at most %d times as many expected", ErrLimit, name, size, packed, l.Ratio)
	}
	return nil
}
