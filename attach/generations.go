package attach

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/supervisor"
)

// A connection to an MCP server speaks one of the two generations of the protocol, also
// where the server has both: the first request decides which. So programs of the other one
// get another process of the host, an instance of it.

// generationIdle is how long the instance for the other generation stays without a program,
// unless [Rule].IdleStop says otherwise. In the generation without the handshake each
// request over HTTP is a program of its own.
const generationIdle = 10 * time.Minute

// generation returns the last revision of the generation with the handshake, or the first
// of that without it.
func generation(sessionless bool) string {
	if sessionless {
		return withoutSession
	}
	return withSession
}

// opens returns the generation that the first message of a program belongs to, "" if it
// does not show that, and what a host is opened with for it.
func opens(m *codec.Message) (string, codec.Raw) {
	if m.Kind != codec.Request {
		return "", nil
	}
	if m.Method == "initialize" {
		return generation(isSessionless(versionOf(m.Params))), m.Params
	}
	if opening, is := openingOf(m.Params); is {
		return withoutSession, opening
	}
	return "", nil
}

// separate reports whether a program that speaks a generation is to have another process
// than one whose programs use a generation, "" without any, and which runs, if it does, in
// a generation. has: there is such another process.
func separate(speaks, used, runs string, has bool) bool {
	switch {
	case speaks == "":
		return false
	case used != "":
		return used != speaks
	}
	return has && runs != "" && runs != speaks // rather than to start it anew each time
}

// elsewhere is the error of a program that is to have another process of its host.
type elsewhere struct {
	generation string
	opening    codec.Raw          // what a host is opened with for it
	rw         io.ReadWriteCloser // of the program, from the beginning
}

func (e *elsewhere) Error() string { return "another process is for programs of MCP " + e.generation }

// recorder is a reader that keeps what is read while read is not nil.
type recorder struct {
	io.Reader
	read *bytes.Buffer
}

func (r *recorder) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if r.read != nil {
		r.read.Write(p[:n])
	}
	return n, err
}

// elsewhere decides by the first message of a client whether it is to have another process,
// nil if not. See Hub.serve about apart.
func (c *client) elsewhere(m *codec.Message, apart func(generation string) bool) *elsewhere {
	h := c.hub
	speaks, opening := opens(m)
	has := apart(speaks)
	h.mu.Lock()
	defer h.mu.Unlock()
	runs := ""
	if h.line != nil {
		runs = generation(h.sessionless)
	}
	if speaks != h.lacks && separate(speaks, h.used(c), runs, has) {
		return &elsewhere{generation: speaks, opening: opening}
	}
	c.generation = speaks
	return nil
}

// used returns the generation that clients but c speak, "" without any. Under the lock.
func (h *Hub) used(c *client) (used string) {
	for _, o := range h.clients {
		switch {
		case o == c || o.leaving:
		case o.introduced && h.line != nil:
			return generation(h.sessionless)
		case o.introduced:
			return generation(isSessionless(versionOf(h.opening)))
		case used == "": // the host is being started for it
			used = o.generation
		}
	}
	return used
}

// serve lets a program speak to a host: to the instance that it wants, or to the host itself. If programs of the other generation use that, the program
// gets another instance. Where that is not possible, it is refused as one of the wrong
// generation is.
func (h *hubs) serve(ctx context.Context, of *supervisor.Host, hub *Hub, w want, rw io.ReadWriteCloser) error {
	// Keys of other instances begin otherwise, so that no program can name that of one of these.
	other := func(generation string) string { return "MCP " + generation + " " + w.key }
	err := hub.serve(ctx, rw, func(generation string) bool {
		h.mu.Lock()
		i := h.instances[of]
		h.mu.Unlock()
		return i != nil && i.has(other(generation))
	})
	var away *elsewhere
	if !errors.As(err, &away) {
		return err
	}
	w.key = other(away.generation)
	apart, left, err := h.instancesOf(of).open(ctx, w, away)
	hub.separated(away.generation, apart, err)
	if err != nil {
		return hub.serve(ctx, away.rw, nil)
	}
	defer left()
	return apart.serve(ctx, away.rw, nil)
}

// open gives a program the instance that it wants, and opens that for it. left must be called
// when the program has left. With the error of an instance that was opened comes its hub.
func (i *instances) open(ctx context.Context, w want, away *elsewhere) (hub *Hub, left func(), err error) {
	host, number, err := i.join(ctx, "", w)
	if err != nil {
		return nil, nil, err
	}
	left = func() { i.left(number) }
	if hub, err = i.hubs.hub(host); err == nil {
		_, err = hub.start(ctx, nil, away.opening)
	}
	if err != nil {
		i.retire(number)
		left()
	}
	return hub, left, err
}

// separated notes whether there is a process for programs of a generation: what there is
// against it otherwise, and whether the server speaks it at all.
func (h *Hub) separated(generation string, apart *Hub, err error) {
	lacks := false
	if err != nil && apart != nil {
		apart.mu.Lock()
		lacks = apart.lacks == generation
		apart.mu.Unlock()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.apart = err
	if lacks {
		h.lacks = generation
	}
}
