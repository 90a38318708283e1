package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"
)

// Code is the number of an error.
type Code int64

// The codes.
const (
	CodeInvalidRequest  Code = -32600 // malformed, out of turn, or refused by a rule of the server
	CodeMethodNotFound  Code = -32601
	CodeInvalidParams   Code = -32602
	CodeInternal        Code = -32603 // an error of the system
	CodeNotFound        Code = -32004 // no such file, no such handle
	CodeAlreadyAttached Code = -32010 // the session has another connection
)

// Error is an error answer. The message is part of the protocol: clients
// branch on some of them.
type Error struct {
	Code    Code            `json:"code" wire:"required"`
	Message string          `json:"message" wire:"required"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error reads "no such file (-32004)".
func (e *Error) Error() string { return e.Message + " (" + strconv.FormatInt(int64(e.Code), 10) + ")" }

// Is compares codes, and messages where target has one: errors.Is(err, &Error{Code: CodeNotFound}).
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && (t.Message == "" || t.Message == e.Message)
}

// InvalidRequest makes an error with CodeInvalidRequest.
func InvalidRequest(format string, args ...any) *Error {
	return &Error{Code: CodeInvalidRequest, Message: fmt.Sprintf(format, args...)}
}

// InvalidParams makes an error with CodeInvalidParams.
func InvalidParams(format string, args ...any) *Error {
	return &Error{Code: CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// Internal makes an error with CodeInternal.
func Internal(format string, args ...any) *Error {
	return &Error{Code: CodeInternal, Message: fmt.Sprintf(format, args...)}
}

// NotFound makes an error with CodeNotFound.
func NotFound(format string, args ...any) *Error {
	return &Error{Code: CodeNotFound, Message: fmt.Sprintf(format, args...)}
}

// NoMethod makes the error for an unknown method.
func NoMethod(method string) *Error {
	return &Error{Code: CodeMethodNotFound, Message: "exec-server stub does not implement `" + method + "` yet"}
}

// OSError makes an error of an error of the system, with its usual words:
// "Permission denied (os error 13)".
func OSError(err error) *Error { return &Error{Code: CodeInternal, Message: OSText(err)} }

// FileError is OSError, but with CodeNotFound for a file that does not exist and
// CodeInvalidRequest for what is not permitted or invalid.
func FileError(err error) *Error {
	e := OSError(err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Code = CodeNotFound
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EINVAL):
		e.Code = CodeInvalidRequest
	}
	return e
}

// OSText returns the text of an error of the system. Errors without a number keep
// their own text.
func OSText(err error) string {
	n, ok := errnoOf(err)
	if !ok {
		return err.Error()
	}
	text, ok := errnoTexts[n]
	if !ok {
		text = n.Error()
		text = strings.ToUpper(text[:min(1, len(text))]) + text[min(1, len(text)):]
	}
	return text + " (os error " + strconv.Itoa(int(n)) + ")"
}

func errnoOf(err error) (syscall.Errno, bool) {
	var n syscall.Errno
	switch {
	case errors.As(err, &n):
		return n, true
	case errors.Is(err, fs.ErrNotExist):
		return syscall.ENOENT, true
	case errors.Is(err, fs.ErrPermission):
		return syscall.EACCES, true
	case errors.Is(err, fs.ErrExist):
		return syscall.EEXIST, true
	}
	return 0, false
}

// errnoTexts are the words of the C library that the protocol's first server is
// built with, where they are not those of Linux with a capital letter.
var errnoTexts = map[syscall.Errno]string{
	syscall.EIO:          "I/O error",
	syscall.ECHILD:       "No child process",
	syscall.ENOMEM:       "Out of memory",
	syscall.EBUSY:        "Resource busy",
	syscall.EXDEV:        "Cross-device link",
	syscall.EMFILE:       "No file descriptors available",
	syscall.ENOTTY:       "Not a tty",
	syscall.ESPIPE:       "Invalid seek",
	syscall.ENAMETOOLONG: "Filename too long",
	syscall.ELOOP:        "Symbolic link loop",
	syscall.EILSEQ:       "Illegal byte sequence",
	syscall.EOPNOTSUPP:   "Not supported",
	syscall.ETIMEDOUT:    "Operation timed out",
	syscall.EDQUOT:       "Quota exceeded",
	syscall.ESTALE:       "Stale file handle",
	// Where other systems differ from Linux:
	syscall.ENXIO:     "No such device or address",
	syscall.ENODEV:    "No such device",
	syscall.EAGAIN:    "Resource temporarily unavailable",
	syscall.EOVERFLOW: "Value too large for data type",
}
