package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
)

// The streams carry what is read and written, and the end, whether they are pipes or not.
func TestStreams(t *testing.T) {
	in, say, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	hear, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{in, say, hear, out} {
		defer f.Close()
	}
	var buf bytes.Buffer
	for name, s := range map[string]*streams{"pipes": newStreams(in, out), "others": newStreams(bytes.NewReader([]byte("said")), &buf)} {
		if name == "pipes" {
			if _, err := say.WriteString("said"); err != nil {
				t.Fatal(err)
			}
			_ = say.Close()
		}
		if got, err := io.ReadAll(s); string(got) != "said" || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		n, err := s.TryWrite([]byte("heard"))
		if err == nil {
			_, err = s.Write([]byte("heard")[n:])
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got := buf.String()
		if name == "pipes" {
			b := make([]byte, 10)
			n, _ := hear.Read(b)
			got = string(b[:n])
		}
		if got != "heard" {
			t.Errorf("%s: %q", name, got)
		}
		if err := errors.Join(s.Close(), s.Close()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Close ends a read that waits.
func TestStreamsEndWithClose(t *testing.T) {
	in, say, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer say.Close()
	s := newStreams(in, io.Discard)
	ended := make(chan error, 1)
	go func() {
		_, err := s.Read(make([]byte, 1))
		ended <- err
	}()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil {
		t.Error("it read something")
	}
}
