package secret

import (
	"bytes"

	"github.com/hostsup/hostsup/codec"
)

// Error returns e without the values that hosts were given. in is the encoding of its
// data, which is left out if it cannot be looked at.
func (r *Redactor) Error(in codec.Encoding, e *codec.Error) *codec.Error {
	if !r.Active() {
		return e
	}
	out := *e
	out.Name, out.Message, out.Stack = r.String(e.Name), r.String(e.Message), r.String(e.Stack)
	if e.Cause != nil {
		out.Cause = r.Error(in, e.Cause)
	}
	if in != nil && len(e.Data) > 0 {
		out.Data = nil // unless it can be looked at
		if text, err := in.ToJSON(e.Data); err == nil {
			if clean := r.JSON(text); bytes.Equal(clean, text) {
				out.Data = e.Data
			} else if raw, err := in.FromJSON(clean); err == nil {
				out.Data = raw
			}
		}
	}
	return &out
}
