package survive

import (
	"errors"

	"github.com/hostsup/hostsup/codec"
)

// recorded is a handshake whose messages are kept, so that it can be repeated without the host.
type recorded struct {
	codec.Handshake
	to recorder
}

// recorder keeps the messages of a handshake.
type recorder interface {
	heard(m codec.Message)
	opened()
}

// Start implements codec.Handshake.
func (r *recorded) Start() ([]codec.Message, bool) {
	out, done := r.Handshake.Start()
	if done {
		r.to.opened()
	}
	return out, done
}

// Handle implements codec.Handshake.
func (r *recorded) Handle(m *codec.Message) ([]codec.Message, bool, error) {
	out, done, err := r.Handshake.Handle(m)
	if err == nil {
		r.to.heard(*m)
	}
	if done && err == nil {
		r.to.opened()
	}
	return out, done, err
}

// replay brings a handshake to the state that it has after the messages of the host. What is to be sent has
// been sent before.
func replay(hs codec.Handshake, heard []codec.Message) error {
	_, done := hs.Start()
	for i := range heard {
		if done {
			break
		}
		var err error
		if _, done, err = hs.Handle(&heard[i]); err != nil && !errors.Is(err, codec.ErrUnrelated) {
			return err
		}
	}
	if !done {
		return errors.New("its messages are not complete")
	}
	return nil
}

// done is a handshake that an earlier supervisor has made.
type done struct{ codec.Handshake }

// Start implements codec.Handshake.
func (done) Start() ([]codec.Message, bool) { return nil, true }
