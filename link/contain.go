package link

import (
	"fmt"
	"runtime/debug"
)

// PanicError is a panic that was contained.
type PanicError struct {
	Value any
	Stack []byte
}

// Error returns "panic: " and the value.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Contain runs f, and returns a panic in it as a *[PanicError].
func Contain(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &PanicError{r, debug.Stack()}
		}
	}()
	return f()
}
