package stores

import "github.com/hostsup/hostsup/intercept/secret"

// Open returns the store that the options are about. It touches neither keyring
// nor file: that is done by the first operation.
func (o Options) Open() (secret.Source, error) {
	o = o.WithDefaults()
	return &store{opt: o}, o.Validate()
}

// store chooses a source for each operation.
type store struct {
	opt   Options
	where string // of the last operation
}

// on runs f on the source that is chosen now.
func (s *store) on(f func(secret.Source) error) error {
	src, err := choose(s.opt)
	if err != nil {
		return err
	}
	err = f(src)
	s.where = src.Where()
	return err
}

func (s *store) Get(name string) (v []byte, err error) {
	err = s.on(func(src secret.Source) error {
		v, err = src.Get(name)
		return err
	})
	return v, err
}

func (s *store) Set(name string, value []byte) error {
	return s.on(func(src secret.Source) error { return src.Set(name, value) })
}

func (s *store) Delete(name string) error {
	return s.on(func(src secret.Source) error { return src.Delete(name) })
}

func (s *store) List() (names []string, err error) {
	err = s.on(func(src secret.Source) error {
		names, err = src.List()
		return err
	})
	return names, err
}

func (s *store) Where() string { return s.where }
