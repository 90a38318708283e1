package fetch

import (
	"bufio"
	"errors"
	"io"
	"net/http/httputil"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hostsup/hostsup/execserver/wire"
)

// answer is the head of a response, and its body to be read.
type answer struct {
	status  uint16
	headers headers
	body    io.Reader
	close   func() // ends the connection; may be called more than once
}

// visible returns the headers as they are answered: grouped, with values in
// UTF-8.
func (a *answer) visible() []wire.HTTPHeader {
	out := make([]wire.HTTPHeader, 0, len(a.headers))
	for _, h := range a.headers.grouped() {
		out = append(out, wire.HTTPHeader{Name: h.name, Value: text(h.value)})
	}
	return out
}

// text returns the value of a header as UTF-8. A value that is not UTF-8 is taken
// for Latin-1, as HTTP has it.
func text(value string) string {
	if utf8.ValidString(value) {
		return value
	}
	runes := make([]rune, len(value))
	for i := range len(value) {
		runes[i] = rune(value[i])
	}
	return string(runes)
}

var (
	errHead = errors.New("malformed head of a response")
	errFull = errors.New("head of a response over the limit")
)

// maxLines is how many headers a response may have.
const maxLines = 2048

// readAnswer reads a head, and those of 1xx answers before it. At most limit
// bytes are taken for all of them.
func readAnswer(r *bufio.Reader, method string, limit int) (*answer, error) {
	for {
		a, minor, err := readHead(r, &limit)
		if err != nil {
			return nil, err
		}
		if a.status >= 100 && a.status < 200 && a.status != 101 {
			continue
		}
		return a, a.frame(r, method, minor)
	}
}

func readHead(r *bufio.Reader, limit *int) (a *answer, minor byte, err error) {
	line, err := readLine(r, limit)
	if err != nil {
		return nil, 0, err
	}
	// HTTP/1.1 200 OK, with or without the reason
	if len(line) < 12 || line[:7] != "HTTP/1." || line[7] != '0' && line[7] != '1' || line[8] != ' ' || len(line) > 12 && line[12] != ' ' {
		return nil, 0, errHead
	}
	status, err := strconv.ParseUint(line[9:12], 10, 16)
	if err != nil || status < 100 || strings.ContainsAny(line[9:12], "+_") {
		return nil, 0, errHead
	}
	a, minor = &answer{status: uint16(status)}, line[7]
	for {
		line, err := readLine(r, limit)
		switch {
		case err != nil:
			return nil, 0, err
		case line == "":
			return a, minor, nil
		case len(a.headers) >= maxLines:
			return nil, 0, errFull
		}
		name, value, ok := strings.Cut(line, ":")
		value = strings.Trim(value, " \t")
		if !ok || !isToken(name) || !isValue(value) {
			return nil, 0, errHead
		}
		a.headers = append(a.headers, header{strings.ToLower(name), value})
	}
}

// readLine reads a line without its end.
func readLine(r *bufio.Reader, limit *int) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if *limit -= len(part); *limit < 0 {
			return "", errFull
		}
		if err == nil && line == nil {
			line = part
		} else {
			line = append(line, part...)
		}
		switch {
		case err == nil:
			return strings.TrimSuffix(string(line[:len(line)-1]), "\r"), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", err
		}
	}
}

// frame finds out where the body ends.
func (a *answer) frame(r *bufio.Reader, method string, minor byte) error {
	length, coding := int64(-1), ""
	for _, h := range a.headers {
		switch h.name {
		case "transfer-encoding":
			coding = strings.ToLower(h.value)
		case "content-length":
			n, err := strconv.ParseUint(h.value, 10, 63)
			if err != nil || h.value[0] == '+' || length >= 0 && int64(n) != length {
				return errHead
			}
			length = int64(n)
		}
	}
	switch {
	case method == "HEAD" || a.status == 204 || a.status == 304 || a.status == 101 || method == "CONNECT" && a.status < 300:
		a.body = strings.NewReader("")
	case coding != "" && minor == '1' && lastCoding(coding) == "chunked":
		a.body = httputil.NewChunkedReader(r)
	case coding != "":
		a.body = r // to the end of the connection
	case length >= 0:
		a.body = &exactly{io.LimitedReader{R: r, N: length}}
	default:
		a.body = r
	}
	return nil
}

func lastCoding(s string) string {
	return strings.TrimSpace(s[strings.LastIndexByte(s, ',')+1:])
}

// exactly reads a body of known length. An end before that is an error.
type exactly struct{ io.LimitedReader }

func (e *exactly) Read(p []byte) (int, error) {
	n, err := e.LimitedReader.Read(p)
	if errors.Is(err, io.EOF) && e.N > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
