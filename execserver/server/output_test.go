//go:build unix

package server

import (
	"bytes"
	"io"
	"os"
	"testing"
)

// What the reader of stdout is not there for waits, in order.
func TestOutputKeepsOrder(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	o := newOutput(w)
	var want bytes.Buffer
	rest := false
	for i := 0; !rest; i++ {
		piece := bytes.Repeat([]byte{byte('a' + i%26)}, 400)
		want.Write(piece)
		if rest, err = o.tryWrite(piece); err != nil {
			t.Fatal(err)
		}
	}
	if again, err := o.tryWrite([]byte("more")); !again || err != nil {
		t.Errorf("%v %v", again, err)
	}
	want.WriteString("more, and the end")
	got := make(chan []byte)
	go func() {
		b, _ := io.ReadAll(r) // until w is closed
		got <- b
	}()
	if _, err := o.Write(nil); err != nil {
		t.Error(err)
	}
	if _, err := o.Write([]byte(", and the end")); err != nil {
		t.Error(err)
	}
	if err := o.Close(); err != nil { // it stays open
		t.Error(err)
	}
	w.Close()
	if b := <-got; !bytes.Equal(b, want.Bytes()) {
		t.Errorf("%d bytes came, want %d", len(b), want.Len())
	}
	if _, err := o.tryWrite([]byte("x")); err == nil {
		t.Error("no error of a closed one")
	}
}
