package attach

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
)

// TestChoose plays testdata/routing.txt: who is asked what the host requests. A line is
// the method, the clients in the order of their arrival, and the outcome. A client is
// written as its open calls and news with commas between them, or "-" for none, and "!" behind
// one that has announced what the request needs. The outcome is the number of the
// client, from 1, and "sure" or "unsure".
func TestChoose(t *testing.T) {
	f, err := os.Open("testdata/routing.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	played := 0
	var d dialect
	for s := bufio.NewScanner(f); s.Scan(); {
		line := strings.TrimSpace(s.Text())
		switch {
		case line == "" || line[0] == '#':
			continue
		case line == "[lsp]":
			d = lsp{}
			continue
		case line == "[mcp]":
			d = mcp{}
			continue
		}
		words := strings.Fields(line)
		at := slices.Index(words, "->")
		p := d.purpose(words[0])
		var list []candidate
		for _, w := range words[1:at] {
			var c candidate
			w, c.able = strings.CutSuffix(w, "!")
			for call := range strings.SplitSeq(w, ",") {
				if call != "-" {
					c.count(d, call, p)
				}
			}
			list = append(list, c)
		}
		who, sure := choose(list, p)
		got := strconv.Itoa(who+1) + map[bool]string{true: " sure", false: " unsure"}[sure]
		if want := strings.Join(words[at+1:], " "); got != want {
			t.Errorf("%s: %s", line, got)
		}
		played++
	}
	if played < 20 {
		t.Errorf("%d lines were played", played)
	}
}

func TestAble(t *testing.T) {
	caps := codec.Raw(`{"workspace":{"applyEdit":true,"configuration":false},"sampling":{},"roots":null}`)
	for path, want := range map[string]bool{
		"": true, "workspace applyEdit": true, "workspace configuration": false, "workspace nothing": false,
		"sampling": true, "roots": false, "elicitation": false, "sampling tools": false,
	} {
		if got := able(caps, strings.Fields(path)); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
	if able(nil, []string{"roots"}) || able(codec.Raw(`[]`), []string{"roots"}) {
		t.Error("who announces nothing is able")
	}
}

func TestRule(t *testing.T) {
	if err := (Rule{}).Validate(nil); err == nil || !strings.Contains(fmt.Sprint(err), "none") {
		t.Error(err)
	}
}
