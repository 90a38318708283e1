package record

import (
	"fmt"
	"strings"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/sandbox/denial"
)

// Redactor takes out of what is kept, shown and logged what nobody may see, such as the
// values of secrets. Safe for concurrent use.
type Redactor interface {
	capture.Redactor
	String(text string) string
	// Error returns e without that; in is the encoding of its data.
	Error(in codec.Encoding, e *codec.Error) *codec.Error
}

// NoRedactor returns the Redactor of a tree that has nothing to hide.
func NoRedactor() Redactor { return nothing{} }

type nothing struct{}

func (nothing) Active() bool                                        { return false }
func (nothing) Bytes(b []byte) []byte                               { return b }
func (nothing) Stream(b []byte) ([]byte, int)                       { return b, 0 }
func (nothing) Last(b []byte) []byte                                { return b }
func (nothing) String(text string) string                           { return text }
func (nothing) Error(_ codec.Encoding, e *codec.Error) *codec.Error { return e }

// MaxDetail is how many bytes of why a life ended are kept and told: it may be
// what its host has said, which can be as long as a frame.
const MaxDetail = 16 << 10

// Shortened returns a text of at most MaxDetail bytes and a word about the rest.
func Shortened(text string) string {
	if len(text) <= MaxDetail {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:MaxDetail], ""), len(text))
}

// Strings returns the list without what r knows.
func Strings(r Redactor, list []string) []string {
	if !r.Active() {
		return list
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = r.String(s)
	}
	return out
}

// Denials returns the list without what r knows.
func Denials(r Redactor, list []denial.Denial) []denial.Denial {
	if !r.Active() {
		return list
	}
	out := make([]denial.Denial, len(list))
	for i, d := range list {
		d.Path, d.Suggest, d.Grant, d.Detail = r.String(d.Path), r.String(d.Suggest), r.String(d.Grant), r.String(d.Detail)
		out[i] = d
	}
	return out
}
