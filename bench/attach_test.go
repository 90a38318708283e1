package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

func newBlobClient(rw io.ReadWriter) *blobClient {
	return &blobClient{w: rw, r: bufio.NewReaderSize(rw, blobSize+4096)}
}

func TestBlobsAreFetched(t *testing.T) {
	here, there, err := socketPair()
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- answerBlobs(there, there) }()
	c := newBlobClient(here)
	if err := c.initialize(); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, blobFlight, 3 * blobFlight} {
		if err := c.fetch(n); err != nil {
			t.Fatal(err)
		}
	}
	if want := 1 + 4*blobFlight; c.last != want {
		t.Errorf("%d requests, want %d", c.last, want)
	}
	if err := here.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Errorf("the end of its input: %v", err)
	}
	if err := there.Close(); err != nil {
		t.Error(err)
	}
}

func TestBlobID(t *testing.T) {
	text := strings.Repeat("x", blobSize)
	line := func(id, text string) string { return blobHead + id + blobText + text + blobEnd }
	if id, err := blobID([]byte(line("12", text))); err != nil || id != 12 {
		t.Errorf("%d, %v", id, err)
	}
	for name, bad := range map[string]string{
		"short":    line("1", text[1:]),
		"long":     line("1", text+"x"),
		"quoted":   line("1", `"`+text[1:]),
		"error":    `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}` + "\n",
		"not ours": line(`"a"`, text),
		"nothing":  "\n",
	} {
		if id, err := blobID([]byte(bad)); err == nil {
			t.Errorf("%s is taken for the answer to %d", name, id)
		}
	}
}

func TestFetchWantsItsOwnAnswers(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	go func() {
		defer there.Close()
		asked := bufio.NewReader(there)
		for range blobFlight {
			if _, err := asked.ReadString('\n'); err != nil {
				return
			}
		}
		_, _ = fmt.Fprint(there, blobHead, 99, blobText, strings.Repeat("x", blobSize), blobEnd) // the client may have gone
	}()
	if err := newBlobClient(here).fetch(2 * blobFlight); err == nil || !strings.Contains(err.Error(), "99") {
		t.Errorf("an answer to what was not asked: %v", err)
	}
}

func TestInitializeWantsAnAnswer(t *testing.T) {
	for _, answer := range []string{"", "hello\n", `{"id":"first","error":{"code":1,"message":"no"}}` + "\n", `{"id":"other","result":{"protocolVersion":"2025-06-18"}}` + "\n"} {
		c := &blobClient{w: &bytes.Buffer{}, r: bufio.NewReader(strings.NewReader(answer))}
		if err := c.initialize(); err == nil {
			t.Errorf("%q is taken for an answer", answer)
		}
	}
}

func TestAttachTakesLittleMemory(t *testing.T) {
	f := attachFigures{Before: 20 << 20, Peak: 45 << 20, Took: float64(time.Second)}
	for _, c := range []struct {
		peak float64
		met  bool
	}{{45 << 20, true}, {60 << 20, true}, {61 << 20, false}} {
		f.Peak = c.peak
		if got := attachTarget([]attachFigures{f, f, f}); got.met() != c.met {
			t.Errorf("%v: %+v", c.peak, got)
		}
	}
	if attachTarget(nil).met() {
		t.Error("met without a figure")
	}
}
