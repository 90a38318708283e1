package output

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/workbench"
)

// The bounds of channels.
const (
	maxChannels = 100  // of the hosts of a workbench
	perHost     = 10   // of a host, also if there are maxChannels
	perOwner    = 25   // of an extension, with those of earlier runs
	maxSources  = 1000 // of a host: loggers that extensions have made
	maxName     = 100  // bytes of a name; what is longer is cut
	maxFile     = 4096 // bytes of the URI of a logger's file
)

// partialWait is how long the beginning of a line waits for its end.
const partialWait = 2 * time.Second

// ChannelOptions are those of [NewChannels]. The zero value keeps the last lines in memory.
type ChannelOptions struct {
	// Dir is the folder of the files, made when it is needed; "" keeps the last lines in memory only.
	// It must not be one that a host can write.
	Dir string
	// Host is the host that the others of the workbench are beside.
	Host string
	// MaxSize is the size of a file of a channel in bytes, default 4 MiB. A channel has two files.
	MaxSize int64
	// Redact takes values of secrets out of a line. nil: nothing is taken out.
	Redact func(string) string
	// Problem is called with what cannot be kept. It must not block. nil: it is dropped.
	Problem func(text string)
}

// Channels answers MainThreadOutputService and MainThreadLogger: what extensions write into output
// channels, and what hosts write into their own logs, comes as messages and is kept in files of the
// supervisor. Hosts write channels that way if the logs in their init data are of the scheme
// [workbench.LogScheme]. It must be made with [NewChannels].
type Channels struct {
	opt ChannelOptions

	mu      sync.Mutex
	all     []*channel // in the order of the index
	sources map[sourceKey]*source
	ids     map[string]*source // by what $register has returned last for the file
	counts  map[string]int     // sources by host
	last    int                // the number of the last id
	told    map[string]bool    // the limits that were reported
	closed  bool
}

// sourceKey is the file that a host has named for a logger.
type sourceKey struct{ host, file string }

func keyOf(c *workbench.Call, file workbench.URI) (sourceKey, error) {
	text := file.String()
	if len(text) > maxFile {
		return sourceKey{}, workbench.Invalid("%s: the URI of a file of at most %d bytes expected, found %d", c.Method, maxFile, len(text))
	}
	return sourceKey{hostOf(c), text}, nil
}

// hostOf returns the name of the host of a call, "" for a call of a test without one.
func hostOf(c *workbench.Call) string {
	if c.Host == nil {
		return ""
	}
	return c.Host.Name()
}

// source is a logger of a life.
type source struct {
	key      sourceKey
	life     uint64
	channel  *channel // nil before its name is known, and if it is refused
	refused  bool     // there are too many channels
	raw      bool     // the text has its own line ends
	written  bool     // since it was cleared
	disposed bool
	partial  []byte      // the beginning of a line
	id       string      // in Channels.ids; "" without one
	timer    *time.Timer // ends the wait for the rest; nil without one
}

// NewChannels returns the service, with the channels that an earlier one has kept in the folder.
func NewChannels(opt ChannelOptions) *Channels {
	if opt.MaxSize <= 0 {
		opt.MaxSize = 4 << 20
	}
	if opt.Redact == nil {
		opt.Redact = func(text string) string { return text }
	}
	if opt.Problem == nil {
		opt.Problem = func(string) {}
	}
	s := &Channels{opt: opt, sources: map[sourceKey]*source{}, ids: map[string]*source{}, counts: map[string]int{}, told: map[string]bool{}}
	s.readIndex()
	return s
}

// Of returns the channels of a host. The error is [extensions.ErrNoExtensions] for a host that is not one of
// VS Code.
func Of(host *actors.Ref) (*Channels, error) {
	return workbench.Of[*Channels](host)
}

// Methods implements [workbench.Service].
func (s *Channels) Methods() map[string]workbench.Method {
	const out, log = "MainThreadOutputService.", "MainThreadLogger."
	unseen := workbench.Method{Now: func(*workbench.Call) (any, error) { return nil, nil }}
	return map[string]workbench.Method{
		out + "$register":         {Now: s.register},
		out + "$update":           {Now: s.update},
		out + "$reveal":           unseen, // lines are there also for a channel that is not shown
		out + "$close":            unseen,
		out + "$dispose":          {Now: s.dispose},
		log + "$createLogger":     {Now: s.create},
		log + "$log":              {Now: s.write},
		log + "$flush":            unseen,
		log + "$registerLogger":   unseen, // it says again what $createLogger says
		log + "$setVisibility":    unseen,
		log + "$deregisterLogger": {Now: s.deregister},
	}
}

// Up implements [workbench.Follower].
func (s *Channels) Up(*workbench.Host) {}

// Down implements [workbench.Follower]: what waits for the end of its line is written.
func (s *Channels) Down(h *workbench.Host) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, src := range s.sources {
		if src.key.host == h.Name() {
			s.end(src)
		}
	}
}

// Close implements [workbench.Closer]: it returns when all is written.
func (s *Channels) Close() error {
	s.mu.Lock()
	for _, src := range s.sources {
		s.end(src)
	}
	s.closed = true
	all := s.all
	s.mu.Unlock()
	var first error
	for _, c := range all {
		c.queue.wait()
		if c.log == nil {
			continue
		}
		if err := c.log.Close(); first == nil {
			first = err
		}
	}
	return first
}

// end forgets a source. The caller must hold mu.
func (s *Channels) end(src *source) {
	s.flush(src)
	delete(s.sources, src.key)
	delete(s.ids, src.id)
	if s.counts[src.key.host]--; s.counts[src.key.host] == 0 {
		delete(s.counts, src.key.host)
	}
}

// source returns the source of a file, and makes it if it is new: nil if there are too many. The caller must
// hold mu.
func (s *Channels) source(c *workbench.Call, file workbench.URI) (*source, error) {
	key, err := keyOf(c, file)
	if err != nil {
		return nil, err
	}
	if src := s.sources[key]; src != nil && src.life == c.Life {
		return src, nil
	} else if src != nil {
		s.end(src)
	}
	if s.closed {
		return nil, nil
	}
	if s.counts[key.host] >= maxSources {
		for _, old := range s.sources {
			if old.key.host == key.host && old.disposed {
				s.end(old)
			}
		}
		if s.counts[key.host] >= maxSources {
			s.tooMany(fmt.Sprintf("host %q has made %d loggers", key.host, maxSources))
			return nil, nil
		}
	}
	src := &source{key: key, life: c.Life}
	s.sources[key] = src
	s.counts[key.host]++
	return src, nil
}

// tooMany reports once that what is written beyond a limit is not kept. The caller must hold mu.
func (s *Channels) tooMany(limit string) {
	if !s.told[limit] {
		s.told[limit] = true
		s.opt.Problem(limit + ", which is the limit; what is written into others is not kept")
	}
}

// name gives a source its channel. The caller must hold mu.
func (s *Channels) name(c *workbench.Call, src *source, extension, name string) {
	src.channel = s.channel(c, extension, name)
	src.refused = src.channel == nil
}

// create answers $createLogger: the file and options.
func (s *Channels) create(c *workbench.Call) (any, error) {
	var file workbench.URI
	var opt struct {
		Name               string
		ExtensionID        string `json:"extensionId"`
		DonotUseFormatters bool
	}
	if err := c.Args(&file, &opt); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	src, err := s.source(c, file)
	if src == nil {
		return nil, err
	}
	src.raw, src.disposed = opt.DonotUseFormatters, false
	if opt.Name != "" {
		s.name(c, src, opt.ExtensionID, opt.Name)
	}
	return nil, nil
}

// register answers $register: the name of a channel, its file, its language and the extension.
func (s *Channels) register(c *workbench.Call) (any, error) {
	var name, extension string
	var file workbench.URI
	if err := c.Args(&name, &file, nil, &extension); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	id := fmt.Sprintf("extension-output-%s-#%d-%s", short(extension), s.last, short(name))
	src, err := s.source(c, file)
	if src != nil {
		delete(s.ids, src.id) // one for each source, so that they are as many at most
		src.raw, src.id = true, id
		s.ids[id] = src
		s.name(c, src, extension, name)
	}
	return id, err
}

// modeClear is the mode of $update for a channel that is made empty.
const modeClear = 3

// update answers $update. What was written stays in the log; that it was cleared is a remark there.
func (s *Channels) update(c *workbench.Call) (any, error) {
	var id string
	var mode int
	if err := c.Args(&id, &mode); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	src := s.ids[id]
	if src == nil || mode != modeClear || src.channel == nil || !src.written {
		return nil, nil
	}
	s.flush(src)
	src.written = false
	s.print(src, capture.Note, "the extension has cleared the channel")
	return nil, nil
}

func (s *Channels) dispose(c *workbench.Call) (any, error) {
	var id string
	if err := c.Args(&id); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if src := s.ids[id]; src != nil {
		s.flush(src)
		delete(s.ids, id)
	}
	return nil, nil
}

// deregister answers $deregisterLogger. The source stays for what a host sends late.
func (s *Channels) deregister(c *workbench.Call) (any, error) {
	var file workbench.URI
	if err := c.Args(&file); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key, err := keyOf(c, file)
	if src := s.sources[key]; src != nil {
		s.flush(src)
		src.disposed = true
	}
	return nil, err
}

// message is a level and a text.
type message struct {
	level int
	text  string
}

// write answers $log: the file, and pairs of a level and a text.
func (s *Channels) write(c *workbench.Call) (any, error) {
	var file workbench.URI
	var list [][2]any
	if err := c.Args(&file, &list); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	src, err := s.source(c, file)
	if src == nil {
		return nil, err
	}
	if src.channel == nil && !src.refused {
		s.name(c, src, "", base(file))
	}
	if src.refused {
		return nil, nil
	}
	for _, pair := range list {
		level, _ := pair[0].(float64)
		text, _ := pair[1].(string)
		s.take(src, message{int(level), text})
	}
	return nil, nil
}

// base returns the name of a file without its ending.
func base(file workbench.URI) string {
	name := file.Path[strings.LastIndexByte(file.Path, '/')+1:]
	if name = strings.TrimSuffix(name, ".log"); name == "" {
		name = "log"
	}
	return name
}

// levels are the names of VS Code's levels of logs.
var levels = map[int]string{1: "trace", 2: "debug", 3: "info", 4: "warning", 5: "error"}

// take adds a message to the lines of a source. The caller must hold mu.
func (s *Channels) take(src *source, m message) {
	if !src.raw {
		stream := capture.Stdout
		if m.level >= 4 {
			stream = capture.Stderr
		}
		head := ""
		if name := levels[m.level]; name != "" {
			head = "[" + name + "] "
		}
		for l := range strings.Lines(m.text) {
			s.print(src, stream, head+strings.TrimRight(l, "\r\n"))
			head = ""
		}
		return
	}
	for l := range strings.Lines(m.text) {
		for len(src.partial)+len(l) > capture.MaxLine {
			room := capture.MaxLine - len(src.partial)
			s.print(src, capture.Stdout, string(src.partial)+l[:room])
			src.partial, l = src.partial[:0], l[room:]
		}
		src.partial = append(src.partial, l...)
		if whole, ended := bytes.CutSuffix(src.partial, []byte("\n")); ended {
			s.print(src, capture.Stdout, string(bytes.TrimSuffix(whole, []byte("\r"))))
			src.partial = src.partial[:0]
		}
	}
	switch {
	case len(src.partial) == 0 && src.timer != nil:
		src.timer.Stop()
		src.timer = nil
	case len(src.partial) > 0 && src.timer == nil:
		src.timer = time.AfterFunc(partialWait, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			src.timer = nil
			if s.sources[src.key] == src {
				s.flush(src)
			}
		})
	}
}

// flush writes the beginning of a line that waits for its end. The caller must hold mu.
func (s *Channels) flush(src *source) {
	if src.timer != nil {
		src.timer.Stop()
		src.timer = nil
	}
	if text := string(src.partial); text != "" && src.channel != nil {
		src.partial = nil
		s.print(src, capture.Stdout, text)
	}
}

// print has a line written. The caller must hold mu.
func (s *Channels) print(src *source, stream capture.Stream, text string) {
	if s.closed {
		return
	}
	src.written = src.written || stream != capture.Note
	log, life := s.open(src.channel), src.life
	src.channel.queue.add(text, func(text string) { log.Print(stream, life, []byte(s.opt.Redact(text))) })
}

// List returns the channels that have lines, or whose extensions have made them, by name.
func (s *Channels) List() []extensions.Channel {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]extensions.Channel, 0, len(s.all))
	for _, c := range s.all {
		out = append(out, extensions.Channel{Name: c.Name, Extension: c.Extension})
	}
	return sorted(out)
}

// Channel returns the lines of a channel by its name, or by the id of its extension, a slash and
// its name if several have that name. The error is [extensions.ErrNoChannel] with the names that there are.
func (s *Channels) Channel(name string) (Lines, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.find(name)
	switch len(found) {
	case 1:
		return Lines{s.open(found[0])}, nil
	case 0:
		return Lines{}, noChannel(name, "there are", s.all)
	}
	return Lines{}, noChannel(name, "several extensions have it", found)
}

// Lines are those of a channel. They can be read after the service was closed.
type Lines struct{ log *capture.Log }

// History returns the last n lines, oldest first, from memory or the files.
func (l Lines) History(n int) ([]capture.Line, error) { return l.log.History(n) }

// Follow returns the last n lines and later ones, until ctx ends or the service is closed.
func (l Lines) Follow(ctx context.Context, n int) iter.Seq[capture.Line] { return l.log.Follow(ctx, n) }
