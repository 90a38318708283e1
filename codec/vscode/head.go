package vscode

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/vscode/persistent"
)

// headSize bounds what is read of a message over the limit, its header included, and maxMentions
// the extensions that are named of it.
const (
	headSize    = 256
	maxMentions = 3
)

// Words of the fault for a message over the limit.
const (
	overLimit = " bytes, limit "
	inAnswer  = ", in the answer to request "
	inCall    = ", in a call of "
	mentions  = " for "
)

// extensionID matches an argument that may be the id of an extension.
var extensionID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,60}\.[A-Za-z0-9][A-Za-z0-9_-]{0,60}$`)
})

// large returns the fault of a frame over the limit, which says what is known of the message.
// Only what has been read already is looked at: the peer might not send the rest.
func (r *reader) large(length uint32) error {
	b, _ := r.src.Peek(min(r.src.Buffered(), headSize)) // never blocks: it is buffered
	detail := fmt.Sprintf("%d%s%d%s", length, overLimit, r.s.lim.Frame, r.s.describe(b))
	return &codec.FrameError{Err: codec.ErrTooLarge, Offset: -1, Detail: detail, Bytes: evidence(b)}
}

// describe says what a message is of which the beginning is known; "" if that is too short.
func (s *session) describe(frame []byte) string {
	c := &cursor{all: frame[min(len(frame), persistent.HeaderSize):]}
	kind, id := c.u8("type"), c.u32("id")
	switch {
	case c.fail != nil:
		return ""
	case kind >= rpcBuffer && kind <= rpcError:
		return inAnswer + strconv.FormatUint(uint64(id), 10)
	case kind < rpcRequest || kind > rpcMixedCancellable:
		return ""
	}
	number := c.u8("actor")
	method := c.take(uint32(c.u8("method")), "method")
	if c.fail != nil || s.opening.Actors == nil {
		return ""
	}
	actor, ok := s.opening.Actors.Actor(number)
	if !ok {
		return ""
	}
	text := fmt.Sprintf("%s%s.%.64s", inCall, actor, strings.ToValidUTF8(string(method), "?"))
	if ids := mentioned(c.all[c.at:]); len(ids) > 0 {
		text += mentions + strings.Join(ids, ", ")
	}
	return text
}

// mentioned returns the texts in quotes that may be ids of extensions, of arguments that are
// cut at the end.
func mentioned(args []byte) (ids []string) {
	parts := bytes.Split(args, []byte{'"'})
	for i := 1; i < len(parts)-1 && len(ids) < maxMentions; i += 2 {
		if extensionID().Match(parts[i]) {
			ids = append(ids, string(parts[i]))
		}
	}
	return ids
}

// Length returns the length in bytes of the message over the limit that the reason of the end of a
// connection tells of; 0 for any other reason.
func Length(reason string) int64 {
	text, _, ok := strings.Cut(reason, overLimit)
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(text[strings.LastIndexByte(text, ' ')+1:], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Sender returns what the reason of the end of a connection says of a message over the limit:
// the request that it answers, or the ids of extensions that it may be for. Of any other reason
// it returns 0 and nil.
func Sender(reason string) (request uint32, ids []string) {
	if _, rest, ok := strings.Cut(reason, inAnswer); ok {
		digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
		n, err := strconv.ParseUint(digits, 10, 32)
		if err != nil {
			return 0, nil
		}
		return uint32(n), nil
	}
	if _, rest, ok := strings.Cut(reason, inCall); ok {
		if _, list, ok := strings.Cut(rest, mentions); ok {
			for id := range strings.SplitSeq(list, ", ") {
				id, _, _ = strings.Cut(id, " ") // more may follow
				if !extensionID().MatchString(id) {
					break
				}
				ids = append(ids, id)
			}
		}
	}
	return 0, ids
}
