package documents

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/workbench/text"
)

// Each placeholder has the one before it twice: a few hundred bytes stand for 2^60.
func TestASnippetThatGrowsWithoutBound(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("${1:aaaaaaaa}")
	for n := 2; n <= 60; n++ {
		fmt.Fprintf(&b, "${%d:$%d$%[2]d}", n, n-1)
	}
	if _, err := snippet(b.String(), nil); !errors.Is(err, ErrTooLarge) {
		t.Errorf("numbers: %v", err)
	}
	if _, err := snippet(strings.Repeat("$TM_SELECTED_TEXT", 100), map[string]string{"TM_SELECTED_TEXT": strings.Repeat("x", 1<<20)}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("variables: %v", err)
	}
	if _, err := indented(strings.Repeat("\n", 1<<20), strings.Repeat(" ", 1<<20), editorOptions{}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("indentation: %v", err)
	}
	if _, err := indented(strings.Repeat("\t", 1<<10), "", editorOptions{TabSize: 4, IndentSize: maxSize, InsertSpaces: true}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("width of a tab: %v", err)
	}
}

func TestDocumentsAreBounded(t *testing.T) {
	s := service(t, Options{})
	d := opened(t, s, written(t, t.TempDir(), "a", ""))
	half := strings.Repeat("x", maxSize*2/3)
	if err := d.Change(insert(half)); err != nil {
		t.Fatal(err)
	}
	if err := d.Change(insert(half)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a document of more than 50 MiB: %v", err)
	}
	whole, _ := d.Text()
	if err := d.Change([]text.Edit{{Range: whole.Whole(), Text: half[1:]}}); err != nil {
		t.Errorf("a text of the same size: %v", err)
	}
	if err := d.Change([]text.Edit{{Range: whole.Whole(), Text: "short"}}); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.documents[d.d.key].weight < maxSize/2 {
		t.Errorf("what can be undone does not count: %d", s.documents[d.d.key].weight)
	}
	if err := s.room(maxWeight-maxSize/2, 1); err != nil { // what can be undone is given up
		t.Error(err)
	}
	if err := s.room(maxWeight, 1); !errors.Is(err, ErrFull) {
		t.Errorf("no memory: %v", err)
	}
	for n := range maxOpen {
		s.documents[fmt.Sprint("untitled:", n)] = &document{model: d.d.model, dirty: true}
	}
	if err := s.room(0, 1); !errors.Is(err, ErrFull) {
		t.Errorf("one document more than 10,000: %v", err)
	}
}

func TestAHostCannotFillTheMemory(t *testing.T) {
	s := service(t, Options{})
	s.mu.Lock()
	for n := range maxOpen {
		s.documents[fmt.Sprint("untitled:", n)] = &document{model: text.NewModel(text.New("", text.LF)), dirty: true}
	}
	s.mu.Unlock()
	if _, err := call(t, s, nil, "MainThreadDocuments.$tryCreateDocument", map[string]string{"content": "x"}); !errors.Is(err, ErrFull) {
		t.Errorf("created: %v", err)
	}
	if _, err := call(t, s, nil, "MainThreadDocuments.$tryOpenDocument", written(t, t.TempDir(), "a", "x")); !errors.Is(err, ErrFull) {
		t.Errorf("opened: %v", err)
	}
}

// Each selection moves with a change. It must not look at the whole text of the change for that, while
// all documents wait.
func TestManySelections(t *testing.T) {
	s := service(t, Options{})
	d := opened(t, s, written(t, t.TempDir(), "a", strings.Repeat("a\n", maxSelections)))
	if err := d.Show(); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	id := s.active.active.editor.id
	s.mu.Unlock()
	list := make([]Selection, maxSelections)
	for i := range list {
		list[i] = Selection{i + 1, 1, i + 1, 2}
	}
	const set = "MainThreadTextEditors.$trySetSelections"
	if _, err := call(t, s, nil, set, id, append(list, list[0])); err == nil {
		t.Error("10,001 selections")
	}
	if _, err := call(t, s, nil, set, id, list); err != nil {
		t.Fatal(err)
	}
	if err := d.Change(insert(strings.Repeat("\n", 1<<20))); err != nil { // 20,000 times 1 MiB
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, want := s.active.active.editor.selections[maxSelections-1], (Selection{1<<20 + maxSelections, 1, 1<<20 + maxSelections, 2}); last != want {
		t.Errorf("%+v, want %+v", last, want)
	}
}

// A document of nothing but line ends must not take many times its size, for a host neither: each of
// its lines is three bytes of JSON, which is copied three times at most.
func TestMemoryOfADocumentOfLineEnds(t *testing.T) {
	const size = maxSize
	s := service(t, Options{})
	path := written(t, t.TempDir(), "a", strings.Repeat("\n", size))
	var before, opened, encoded runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := call(t, s, nil, "MainThreadDocuments.$tryOpenDocument", path); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&opened)
	s.mu.Lock()
	dto := s.documents[path.String()].dto()
	s.mu.Unlock()
	raw, err := dto.Lines.MarshalJSON()
	if err != nil || len(raw) != 3*size+4 {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
	runtime.ReadMemStats(&encoded)
	if n := opened.TotalAlloc - before.TotalAlloc; n > 4*size {
		t.Errorf("opening has allocated %d bytes", n)
	}
	if n := encoded.TotalAlloc - opened.TotalAlloc; n > 4*size {
		t.Errorf("the lines for a host have allocated %d bytes", n)
	}
}

func TestLinesAsJSON(t *testing.T) {
	for _, content := range []string{"", "\n", "a\r\n\"b\\\"\n\t<é𝒳\u2028>\n", "\x00"} {
		now := text.New(content, text.LF)
		raw, err := json.Marshal(lines{now})
		var back []string
		if err != nil || json.Unmarshal(raw, &back) != nil || !slices.Equal(back, now.Lines()) {
			t.Errorf("%q: %s, %v", content, raw, err)
		}
	}
}

func TestProvidersAndGroupsAreBounded(t *testing.T) {
	s := service(t, Options{})
	s.mu.Lock()
	s.providers = make([]provider, maxProviders)
	s.mu.Unlock()
	_, err := call(t, s, nil, "MainThreadDocumentContentProviders.$registerTextContentProvider", 1, "made")
	if err == nil || !strings.Contains(err.Error(), "workspace.registerTextDocumentContentProvider") {
		t.Errorf("%v", err)
	}
	uri, next := written(t, t.TempDir(), "a", ""), beside
	d := opened(t, s, uri)
	s.mu.Lock()
	defer s.mu.Unlock()
	for range maxGroups + 10 {
		s.show(d.d, showing{Position: &next})
	}
	if n := len(s.groups); n != maxGroups {
		t.Errorf("%d groups", n)
	}
	if last := s.groups[maxGroups-1]; s.active != last || len(last.tabs) != 1 {
		t.Errorf("the last group is not the active one, or has %d tabs", len(last.tabs))
	}
}
