package handover

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Protocol is the version of the messages.
const Protocol = 1

// maxMessage bounds a message, in bytes.
const maxMessage = 4 << 20

// Offer is what the process that takes over is told.
type Offer struct {
	Protocol int      `json:"protocol"`
	Version  string   `json:"version"` // of the program that runs
	Files    []string `json:"files"`   // names of the descriptors that are inherited, in their order
	Sockets  []string `json:"sockets"` // names of those that follow, and listen
	Socket   string   `json:"socket"`
	StateDir string   `json:"state_dir"`
}

// report is what the process that takes over tells.
type report struct {
	Step     string   `json:"step"`
	Protocol int      `json:"protocol,omitempty"`
	Version  string   `json:"version,omitempty"`
	Hosts    []string `json:"hosts,omitempty"`
	Kept     []string `json:"kept,omitempty"`
	Error    string   `json:"error,omitempty"`
}

// The steps of a report.
const (
	stepHello   = "hello"
	stepTaken   = "taken"
	stepReady   = "ready"
	stepRunning = "running"
)

// goAhead tells that the hosts are let go.
type goAhead struct {
	Go bool `json:"go"`
}

// line is the connection to the other process.
type line struct {
	file *os.File
	in   *bufio.Reader
}

func newLine(f *os.File) *line { return &line{f, bufio.NewReaderSize(f, 64<<10)} }

func (l *line) send(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = l.file.Write(append(b, '\n'))
	return err
}

// receive reads a message. The error is io.EOF if the other process has ended.
func (l *line) receive(v any) error {
	var b []byte
	for {
		part, err := l.in.ReadSlice('\n')
		b = append(b, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && len(b) <= maxMessage:
			continue
		case err != nil && len(b) > maxMessage:
			return fmt.Errorf("a message of more than %d bytes", maxMessage)
		case errors.Is(err, io.EOF):
			return io.EOF
		case err != nil:
			return err
		}
		return json.Unmarshal(b, v)
	}
}
