package actors

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/intercept/secret"
	"github.com/hostsup/hostsup/sandbox/denial"
)

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
func redactFailure(r *secret.Redactor, f *Failure) {
	defer func() { f.Detail = shortened(f.Detail) }() // behind, as half of a value is not known
	if !r.Active() {
		return
	}
	f.Detail, f.Bad = r.String(f.Detail), r.Last(f.Bad) // of these there are only the first
	for i := range f.Headers {
		f.Headers[i].Method = r.String(f.Headers[i].Method)
	}
}

// redactError takes them out of an error that a host answers.
func (r *Ref) redactError(e *codec.Error) *codec.Error {
	red := r.world.Redactor
	if !red.Active() {
		return e
	}
	out := *e
	out.Name, out.Message, out.Stack = red.String(e.Name), red.String(e.Message), red.String(e.Stack)
	if e.Cause != nil {
		out.Cause = r.redactError(e.Cause)
	}
	if enc := r.spec.Protocol; enc != nil && len(e.Data) > 0 {
		out.Data = nil // unless it can be looked at
		if text, err := enc.ToJSON(e.Data); err == nil {
			if clean := red.JSON(text); bytes.Equal(clean, text) {
				out.Data = e.Data
			} else if raw, err := enc.FromJSON(clean); err == nil {
				out.Data = raw
			}
		}
	}
	return &out
}

func redactStrings(r *secret.Redactor, list []string) []string {
	if !r.Active() {
		return list
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = r.String(s)
	}
	return out
}

func redactDenials(r *secret.Redactor, list []denial.Denial) []denial.Denial {
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
