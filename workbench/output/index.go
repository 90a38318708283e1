package output

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/workbench"
)

// channel is an output channel over all lives.
type channel struct {
	indexed
	made  bool         // since the service was made
	host  string       // the one that has made it first since then; "" without one
	log   *capture.Log // nil before it is used
	queue queue
}

// indexed is an entry of the index: which channel is in which file.
type indexed struct {
	Name      string `json:"name"`
	Extension string `json:"extension"`
	File      string `json:"file"` // without its ending
}

// indexFile is the file of the index in the folder.
const indexFile = "index.json"

// files is how many files a channel has, the current one included.
const files = 2

// channel returns the channel of an extension by its name, and makes it if it is new: nil if there
// are too many. The caller must hold mu.
func (s *Channels) channel(c *workbench.Call, extension, name string) *channel {
	return s.channelOf(hostOf(c), extension, name)
}

// channelOf is channel for the name of a host.
func (s *Channels) channelOf(host, extension, name string) *channel {
	if extension == "" && host != s.opt.Host {
		name += " of " + host
	}
	name, extension = short(name), short(extension)
	for _, ch := range s.all {
		if ch.Name == name && ch.Extension == extension {
			if !ch.made {
				ch.made, ch.host = true, host
			}
			return ch
		}
	}
	if !s.room(host, extension) {
		return nil
	}
	sum := sha256.Sum256([]byte(extension + "\x00" + name))
	plain := fileName(name[:min(len(name), 40)])
	ch := &channel{indexed: indexed{name, extension, plain + "-" + hex.EncodeToString(sum[:4])}, made: true, host: host}
	ch.queue.name = name
	s.all = append(s.all, ch)
	s.writeIndex()
	return ch
}

// room makes room for a channel, and reports whether there is some. A host says for which extension
// it makes a channel, and may lie: the channels of an extension are counted for each host, and a host
// with few channels gets another one in any case. The caller must hold mu.
func (s *Channels) room(host, extension string) bool {
	of := func(ch *channel) bool { return ch.Extension == extension && (!ch.made || ch.host == host) }
	for extension != "" && s.count(of) >= perOwner {
		if !s.evict(of) {
			s.tooMany(fmt.Sprintf("extension %q has made %d output channels", extension, perOwner))
			return false
		}
	}
	for len(s.all) >= maxChannels {
		if s.evict(func(*channel) bool { return true }) {
			continue
		}
		if s.count(func(ch *channel) bool { return ch.made && ch.host == host }) < perHost {
			break
		}
		s.tooMany(fmt.Sprintf("extensions have made %d output channels, and host %q %d of them or more", maxChannels, host, perHost))
		return false
	}
	return true
}

// count returns the number of channels of which is is true. The caller must hold mu.
func (s *Channels) count(is func(*channel) bool) (n int) {
	for _, ch := range s.all {
		if is(ch) {
			n++
		}
	}
	return n
}

// fileName returns a name in which other bytes than letters, digits, dots and hyphens of ASCII are underscores.
func fileName(name string) string {
	b := []byte(name)
	for i, c := range b {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '-':
		default:
			b[i] = '_'
		}
	}
	return string(b)
}

// short returns a name of one line that is not too long.
func short(name string) string {
	name = strings.ToValidUTF8(strings.Join(strings.Fields(name), " "), "")
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "")
	}
	return name
}

// evict removes the oldest channel of which is is true and that was not made again since the service
// was made, and reports whether there was one. The caller must hold mu.
func (s *Channels) evict(is func(*channel) bool) bool {
	i := slices.IndexFunc(s.all, func(ch *channel) bool { return !ch.made && ch.log == nil && is(ch) })
	if i < 0 {
		return false
	}
	old := s.all[i]
	s.all = slices.Delete(s.all, i, i+1)
	if list, err := filepath.Glob(filepath.Join(s.opt.Dir, old.File+".log*")); err == nil && s.opt.Dir != "" {
		for _, path := range list {
			if err := os.Remove(path); err != nil {
				s.opt.Problem(err.Error())
			}
		}
	}
	return true
}

// open returns the log of a channel. The caller must hold mu.
func (s *Channels) open(ch *channel) *capture.Log {
	if ch.log == nil {
		ch.log = capture.New(capture.Options{
			Dir: s.opt.Dir, Name: ch.File, Rules: capture.Rules{MaxSize: s.opt.MaxSize, Files: files},
			RingBytes: 256 << 10, OnError: func(err error) { s.opt.Problem(err.Error()) },
		})
	}
	return ch.log
}

// maxIndex bounds the bytes of the index.
const maxIndex = 1 << 20

// readIndex reads the index. One that is damaged is as a missing one: the next channel writes it.
func (s *Channels) readIndex() {
	if s.opt.Dir == "" {
		return
	}
	path := filepath.Join(s.opt.Dir, indexFile)
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	var list []indexed
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxIndex) {
		err = fmt.Errorf("%s: a file of at most %d bytes expected", path, maxIndex)
	}
	if err == nil {
		var text []byte
		if text, err = os.ReadFile(path); err == nil {
			err = json.Unmarshal(text, &list)
		}
	}
	if err != nil {
		s.opt.Problem(fmt.Sprintf("the output channels of earlier runs are not listed: %v", err))
		return
	}
	for _, e := range list { // those beyond the limits have files, which the next new channel removes
		if e.Name == "" || e.File == "" || e.File != fileName(e.File) {
			continue
		}
		ch := &channel{indexed: e}
		ch.queue.name = e.Name
		s.all = append(s.all, ch)
	}
}

// writeIndex writes the index anew. The caller must hold mu.
func (s *Channels) writeIndex() {
	if s.opt.Dir == "" {
		return
	}
	list := make([]indexed, 0, len(s.all))
	for _, ch := range s.all {
		list = append(list, ch.indexed)
	}
	if err := s.replaceIndex(list); err != nil {
		s.opt.Problem(fmt.Sprintf("output channels cannot be listed after a restart of the supervisor: %v", err))
	}
}

func (s *Channels) replaceIndex(list []indexed) error {
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.opt.Dir, 0o700); err != nil {
		return err
	}
	path := filepath.Join(s.opt.Dir, indexFile)
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// find returns the channels that a user means: that of the name, or of an extension and the name,
// or, without regard to case, of the name. The caller must hold mu.
func (s *Channels) find(name string) []*channel {
	for _, is := range []func(*channel) bool{
		func(ch *channel) bool { return ch.Name == name },
		func(ch *channel) bool { return ch.Extension+"/"+ch.Name == name },
		func(ch *channel) bool { return strings.EqualFold(ch.Name, name) },
	} {
		var found []*channel
		for _, ch := range s.all {
			if is(ch) {
				found = append(found, ch)
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// noChannel returns the error for a name that is not that of one channel.
func noChannel(name, why string, list []*channel) error {
	if len(list) == 0 {
		return fmt.Errorf("%w %q: extensions have made none yet", extensions.ErrNoChannel, name)
	}
	var all []extensions.Channel
	for _, ch := range list {
		all = append(all, extensions.Channel{Name: ch.Name, Extension: ch.Extension})
	}
	words := make([]string, 0, len(all))
	for _, ch := range sorted(all) {
		word := ch.Name
		if ch.Extension != "" {
			word = ch.Extension + "/" + ch.Name
		}
		words = append(words, fmt.Sprintf("%q", word))
	}
	return fmt.Errorf("%w %q: %s %s", extensions.ErrNoChannel, name, why, strings.Join(words, ", "))
}

// sorted sorts channels by name and extension.
func sorted(list []extensions.Channel) []extensions.Channel {
	slices.SortFunc(list, func(a, b extensions.Channel) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Extension, b.Extension))
	})
	return list
}
