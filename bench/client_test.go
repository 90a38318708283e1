package main

import (
	"bufio"
	"io"
	"strings"
	"testing"
)

func TestEchoHasItsLength(t *testing.T) {
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
	for range 20 { // the id gets longer meanwhile
		if err := c.echo(); err != nil {
			t.Fatal(err)
		}
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

	var sent strings.Builder
	lone := &blobClient{w: &sent, r: bufio.NewReader(strings.NewReader("{}\n"))}
	if err := lone.echo(); err == nil || sent.Len() != shortSize {
		t.Errorf("%v; %d bytes sent", err, sent.Len())
	}
	lone = &blobClient{w: io.Discard, r: bufio.NewReader(strings.NewReader(""))}
	if err := lone.echo(); err == nil {
		t.Error("no answer is taken for one")
	}
}

func TestClientTargets(t *testing.T) {
	direct := []clientFigures{{P50: 20, Rate: 1000}}
	for _, c := range []struct {
		p50, rate, growth float64 // in those of direct pipes, and MiB
		met               bool
	}{
		{2.4, 0.16, 39, true},
		{2.6, 0.16, 39, false},
		{2.4, 0.14, 39, false},
		{2.4, 0.16, 41, false},
	} {
		f := []clientFigures{{P50: c.p50 * 20, Rate: c.rate * 1000, Growth: c.growth * (1 << 20)}}
		met := true
		for _, got := range clientTargets(map[string][]clientFigures{wayPipes: direct, wayOurs: f}) {
			met = met && got.met()
		}
		if met != c.met {
			t.Errorf("%+v: %v", c, met)
		}
	}
}
