package secret

import (
	"errors"
	"io/fs"
	"os"
	"slices"
)

// choose finds the source. It is asked anew for each operation: a keyring may
// come later than the supervisor, which starts with the machine.
func choose(o Options) (Source, error) {
	if o.Backend == File {
		return newFileSource(o)
	}
	err := findKeyring()
	switch {
	case o.Backend == Keyring && err != nil:
		return nil, err
	case o.Backend == Keyring:
		return keyringSource{o.Service}, nil
	}
	file, ferr := newFileSource(o)
	if err != nil {
		return file, ferr
	}
	if ferr == nil {
		if _, serr := os.Stat(file.path); !errors.Is(serr, fs.ErrNotExist) {
			return both{keyringSource{o.Service}, file}, nil
		}
	}
	return keyringSource{o.Service}, nil
}

// both is the keyring, and a file from a time when there was none: what is not
// in the keyring may be there.
type both struct {
	keyringSource
	file *fileSource
}

func (b both) Get(name string) ([]byte, error) {
	v, err := b.keyringSource.Get(name)
	if errors.Is(err, ErrNotFound) {
		return b.file.Get(name)
	}
	return v, err
}

func (b both) Delete(name string) error {
	first, second := b.keyringSource.Delete(name), b.file.Delete(name)
	switch {
	case first == nil && errors.Is(second, ErrNotFound), errors.Is(first, ErrNotFound) && second == nil:
		return nil
	case errors.Is(first, ErrNotFound):
		return second
	case first == nil:
		return second
	}
	return first
}

func (b both) List() ([]string, error) {
	names, err := b.keyringSource.List()
	more, ferr := b.file.List()
	for _, name := range more {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, errors.Join(err, ferr)
}

func (b both) Where() string { return b.keyringSource.Where() + " and " + b.file.Where() }
