package jsonrpc

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hostsup/hostsup/codec"
)

// maxText is what is kept of the message of a peer's error, in bytes.
const maxText = 64 << 10

// Codes of JSON-RPC 2.0, and one of LSP's that says what we have a name for.
const (
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeCancelled      = -32800
)

// names of codes by JSON-RPC 2.0.
var names = map[int64]string{
	-32700:             "ParseError",
	-32600:             "InvalidRequest",
	codeMethodNotFound: codec.NameMethodNotFound,
	codeInvalidParams:  codec.NameInvalidParams,
	codeInternal:       "InternalError",
	codeCancelled:      codec.NameCancelled, // LSP: RequestCancelled
}

// lspNames of codes by LSP 3.17.
var lspNames = map[int64]string{
	-32803: "RequestFailed",
	-32802: codec.NameCancelled, // ServerCancelled
	-32801: "ContentModified",
	-32002: "ServerNotInitialized",
}

// mcpNames of codes by MCP: its 2026-07-28 revision, those it keeps from older
// ones, and one of its SDKs'.
var mcpNames = map[int64]string{
	-32002:                 "ResourceNotFound",
	-32001:                 "RequestTimeout",
	-32020:                 "HeaderMismatch",
	-32021:                 "MissingRequiredClientCapability",
	codeUnsupportedVersion: "UnsupportedProtocolVersion",
	-32042:                 "URLElicitationRequired",
}

const codeUnsupportedVersion = -32022

// readError takes the member "error", which is not null and was checked. It is
// lenient, because an error that is lost explains nothing: values that do not
// fit are left out, a string is the message, any other value its own JSON.
func (s *Session) readError(raw []byte, own func([]byte) codec.Raw) *codec.Error {
	e := new(codec.Error)
	object := fields(raw, func(key string, v span) {
		value := v.in(raw)
		switch key {
		case "code":
			e.Code = integer(value)
		case "message":
			e.Message = shown(value)
		case "data":
			e.Data = nil
			if v.says(raw) {
				e.Data = own(value)
			}
		}
	})
	if !object {
		e.Message = shown(raw)
	}
	e.Name = s.app.names()[e.Code]
	if e.Name == "" {
		e.Name = names[e.Code]
	}
	return e
}

// shown is a string, or what else was said, cut to maxText.
func shown(raw []byte) string {
	t, is := text(raw[:min(len(raw), 6*maxText)])
	if !is {
		t = string(raw[:min(len(raw), maxText)])
	}
	if len(t) > maxText {
		n := maxText
		for !utf8.RuneStart(t[n]) {
			n--
		}
		t = t[:n]
	}
	return strings.ToValidUTF8(t, "\ufffd")
}

// integer is a number without fraction in 64 bits; 1.0 and 1e3 are such
// numbers. Others are 0.
func integer(raw []byte) int64 {
	if n, err := strconv.ParseInt(string(raw[:min(len(raw), 24)]), 10, 64); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(string(raw[:min(len(raw), 64)]), 64); err == nil && f == float64(int64(f)) && f > -1<<53 && f < 1<<53 {
		return int64(f)
	}
	return 0
}

// appendError writes e as {code, message, data}. A name that no code stands for
// is put before the message.
func (s *Session) appendError(dst []byte, e *codec.Error) []byte {
	code, message := e.Code, e.Message
	if code == 0 {
		code = codeInternal
		switch e.Name {
		case codec.NameMethodNotFound:
			code = codeMethodNotFound
		case codec.NameInvalidParams:
			code = codeInvalidParams
		case codec.NameCancelled:
			code = codeCancelled
		case "", names[codeInternal]:
		default:
			message = e.Error()
		}
	}
	if message == "" {
		message = e.Name
	}
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, code, 10)
	dst = append(dst, `,"message":`...)
	dst = appendString(dst, message)
	if len(e.Data) != 0 {
		dst = append(dst, `,"data":`...)
		dst = append(dst, e.Data...)
	}
	return append(dst, '}')
}

// appendString writes s as a JSON string.
func appendString(dst []byte, s string) []byte {
	plain := true
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			plain = false
			break
		}
	}
	if plain {
		return append(append(append(dst, '"'), s...), '"')
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil { // cannot be: a string
		return append(dst, `""`...)
	}
	return append(dst, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...)
}
