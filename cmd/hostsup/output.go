package main

import (
	"encoding/json"
	"fmt"
	"io"
)

// output is standard output. It records the first error and writes nothing after it,
// so that callers need not check every write.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(p)
	if err != nil {
		o.err = &outputError{err}
		return n, o.err
	}
	return n, nil
}

// line writes one line and reports whether that succeeded.
func (o *output) line(text string) bool {
	_, err := io.WriteString(o, text+"\n")
	return err == nil
}

// jsonLine writes v on one line.
func (o *output) jsonLine(v any) bool {
	enc := json.NewEncoder(o)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		o.fail(err)
	}
	return o.err == nil
}

// jsonDocument writes v for scripts that people read too.
func (o *output) jsonDocument(v any) {
	enc := json.NewEncoder(o)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		o.fail(err)
	}
}

// outputError means that standard output could not be written.
type outputError struct{ err error }

func (e *outputError) Error() string {
	return fmt.Sprintf("cannot write to standard output: %v", e.err)
}
func (e *outputError) Unwrap() error { return e.err }

func (o *output) fail(err error) {
	if o.err == nil {
		o.err = err
	}
}
