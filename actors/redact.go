package actors

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

// nothing is the Redactor of a tree that has none.
type nothing struct{}

func (nothing) Active() bool                                        { return false }
func (nothing) Bytes(b []byte) []byte                               { return b }
func (nothing) Stream(b []byte) ([]byte, int)                       { return b, 0 }
func (nothing) Last(b []byte) []byte                                { return b }
func (nothing) String(text string) string                           { return text }
func (nothing) Error(_ codec.Encoding, e *codec.Error) *codec.Error { return e }

// redactor returns Redactor.
func (w *World) redactor() Redactor {
	if w.Redactor == nil {
		return nothing{}
	}
	return w.Redactor
}

// maxDetail is how many bytes of why a life ended are kept and told: it may be
// what its host has said, which can be as long as a frame.
const maxDetail = 16 << 10

// shortened is a text of at most maxDetail bytes and a word about the rest.
func shortened(text string) string {
	if len(text) <= maxDetail {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:maxDetail], ""), len(text))
}

// redactFailure takes the values of secrets out of why a life ended, and what is
// too long: everything that is told of it, in events, status, report, log and
// answers, is made of this.
func redactFailure(r Redactor, f *Failure) {
	defer func() { f.Detail = shortened(f.Detail) }() // behind, as half of a value is not known
	if !r.Active() {
		return
	}
	f.Detail, f.Bad = r.String(f.Detail), r.Last(f.Bad) // of these there are only the first
	for i := range f.Headers {
		f.Headers[i].Method = r.String(f.Headers[i].Method)
	}
}

func redactStrings(r Redactor, list []string) []string {
	if !r.Active() {
		return list
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = r.String(s)
	}
	return out
}

func redactDenials(r Redactor, list []denial.Denial) []denial.Denial {
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
