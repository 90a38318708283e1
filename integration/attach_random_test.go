//go:build linux

package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unicode/utf16"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/supervisor"
)

// writer is a program that edits documents at random.
type writer struct {
	sharer
	rnd      *rand.Rand
	base     int // its versions are above this, and below the next one's
	version  int
	texts    map[string]string         // by document
	versions map[string]map[int]string // of each document
}

const perWriter = 1_000_000

var sharedDocuments = []string{"u", "v"}

func newWriter(t testing.TB, sup *supervisor.Supervisor, hello dict, number int, seed uint64) *writer {
	t.Helper()
	w := &writer{
		sharer: newSharer(t, sup, hello), rnd: rand.New(rand.NewPCG(seed, uint64(number))), base: number * perWriter, version: number * perWriter,
		texts: map[string]string{}, versions: map[string]map[int]string{},
	}
	for _, uri := range sharedDocuments {
		w.versions[uri] = map[int]string{}
		w.opens(uri, w.says(uri, "one\n𝄞 two"), w.texts[uri])
	}
	return w
}

// says notes the text of the next version.
func (w *writer) says(uri, text string) int {
	w.version++
	w.texts[uri], w.versions[uri][w.version] = text, text
	return w.version
}

// place picks a place in a text.
func (w *writer) place(text string) (offset int, where dict) {
	all := []int{len(text)}
	for i := range text {
		all = append(all, i)
	}
	offset = all[w.rnd.IntN(len(all))]
	before := text[:offset]
	line := before[strings.LastIndexByte(before, '\n')+1:]
	return offset, at(strings.Count(before, "\n"), len(utf16.Encode([]rune(line))))
}

func (w *writer) edits() {
	uri := sharedDocuments[w.rnd.IntN(len(sharedDocuments))]
	text := w.texts[uri]
	from, start := w.place(text)
	to, end := w.place(text)
	if from > to {
		from, start, to, end = to, end, from, start
	}
	with := []string{"", "a", "𝄞", "é\n", fmt.Sprint(w.version)}[w.rnd.IntN(5)]
	version := w.says(uri, text[:from]+with+text[to:])
	w.tell("textDocument/didChange", dict{"textDocument": dict{"uri": uri, "version": version}, "contentChanges": []dict{{"range": dict{"start": start, "end": end}, "text": with}}})
}

// asks hovers and compares the answer with its own text. It returns false for a
// question that was lost.
func (w *writer) asks() bool {
	uri := sharedDocuments[w.rnd.IntN(len(sharedDocuments))]
	offset, where := w.place(w.texts[uri])
	out, err := w.call("textDocument/hover", dict{"textDocument": dict{"uri": uri}, "position": where})
	var quiet *codec.Error
	if errors.As(err, &quiet) && quiet.Code == -32801 {
		return false
	}
	var got struct{ Contents string }
	if err == nil {
		err = json.Unmarshal([]byte(out), &got)
	}
	if want := w.texts[uri][offset:]; err != nil || got.Contents != want {
		w.t.Errorf("at %v of %q: %s, %v, want %q", where, w.texts[uri], out, err, want)
	}
	return true
}

// diagnosed compares what the program was told of its documents with what it had.
func (w *writer) diagnosed() (compared int) {
	opened := map[string]bool{} // it was told about a text of its own
	for {
		var m codec.Message
		select {
		case m = <-w.notes:
		default:
			return compared
		}
		var p struct {
			URI         string
			Version     int
			Diagnostics []struct{ Message string }
		}
		if json.Unmarshal(m.Params, &p) != nil || m.Method != "textDocument/publishDiagnostics" || len(p.Diagnostics) == 0 {
			continue
		}
		text, known := w.versions[p.URI][p.Version]
		switch {
		case !known && !opened[p.URI]: // from before it had opened the document
		case !known || p.Diagnostics[0].Message != "says "+text:
			w.t.Errorf("version %d of %s is %q, and diagnosed with %q", p.Version, p.URI, text, p.Diagnostics[0].Message)
		default:
			opened[p.URI] = true
			compared++
		}
	}
}

// Programs edit the same documents at random while their server is killed and comes
// back as one or another version: each answer is about the text of its asker, and
// diagnostics are about the version that they name.
func TestAttachRandom(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			h, become := textServer(t, incremental)
			h.Restart.MaxCrashes = 1000
			sup, host := alone(t, h)
			hello := opening(t.TempDir())
			writers := make([]*writer, 2+seed)
			for i := range writers {
				writers[i] = newWriter(t, sup, hello, i+1, seed)
			}
			var all sync.WaitGroup
			for _, w := range writers {
				all.Go(func() {
					lost := 0
					for range 300 {
						if w.rnd.IntN(3) > 0 {
							w.edits()
						} else if !w.asks() {
							lost++
						}
					}
					t.Logf("%d questions were lost", lost)
				})
			}
			done := make(chan struct{})
			go func() { all.Wait(); close(done) }()
			for life := uint64(1); life < 8; life++ {
				select {
				case <-done:
				default:
					become([]string{incremental, strings.Replace(incremental, "2", "1", 1)}[life%2])
					signal(t, host, syscall.SIGKILL)
					runs(t, host, life+1)
				}
			}
			<-done
			for _, w := range writers {
				for !w.asks() {
				}
				for _, uri := range sharedDocuments {
					w.inserts(uri, w.says(uri, "!"+w.texts[uri]), at(0, 0), "!")
					w.has(host, uri, w.texts[uri])
				}
			}
			for _, w := range writers {
				if w.diagnosed() == 0 {
					t.Error("nothing was diagnosed")
				}
				w.leaves()
			}
		})
	}
}
