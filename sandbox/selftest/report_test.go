package selftest

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func sample() *Report {
	return &Report{
		Kernel: "6.1 test", Seconds: 3,
		Columns: []Column{{User: "root", Level: "full"}, {User: "user", UID: 1000, Level: "landlock", Missing: []string{"no mounts: much"}}},
		Rows: []Row{
			{Class: Files, Name: "read", About: "open a|b", Witness: "outside", Cells: []Cell{{Held, "no such file", "it came out"}, {Held, "denied", "it came out"}}},
			{Class: Files, Name: "stat", About: "ask", Witness: "inside", Cells: []Cell{{Vacuous, "", ""}, {Gap, "no mounts: much" + evidenceMark + "8 bytes", ""}}},
		},
		Work: []Row{{Class: "work", Name: "write", Cells: []Cell{{Works, "", ""}, {Works, "", ""}}}},
	}
}

func TestErr(t *testing.T) {
	r := sample()
	if err := r.Err(); err != nil {
		t.Errorf("nothing escaped: %v", err)
	}
	r.Work[0].Cells[0].Verdict = Broken
	if err := r.Err(); !errors.Is(err, ErrBroken) || errors.Is(err, ErrEscaped) {
		t.Errorf("something does not work: %v", err)
	}
	r.Rows[0].Cells[1].Verdict = Escaped
	if err := r.Err(); !errors.Is(err, ErrEscaped) {
		t.Errorf("something escaped: %v", err)
	}
}

func TestAdd(t *testing.T) {
	r := sample()
	if err := r.add(sample()); err != nil {
		t.Fatal(err)
	}
	if len(r.Columns) != 4 || len(r.Rows[1].Cells) != 4 || len(r.Work[0].Cells) != 4 || r.Seconds != 6 {
		t.Errorf("%+v", r)
	}
	other := sample()
	other.Rows[0].Name = "write"
	if err := r.add(other); err == nil {
		t.Error("attempts with other names were put together")
	}
}

func TestJSON(t *testing.T) {
	b, err := json.Marshal(sample())
	if err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(&back, sample()) {
		t.Errorf("%v: %s", err, b)
	}
}

func TestText(t *testing.T) {
	var b strings.Builder
	if err := sample().WriteText(&b); err != nil {
		t.Fatal(err)
	}
	const want = `class  attempt  root, full  user, landlock
files  read     held        held
files  stat     vacuous     gap
work   write    works       works
gap: stat (user, landlock: files): no mounts: much; seen: 8 bytes
root, full: 1 held, 0 escaped, 1 vacuous
user, landlock: 1 held, 1 gap, 0 escaped
    missing: no mounts: much
2 attempts, 3 s, Linux 6.1 test
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestMarkdown(t *testing.T) {
	var b strings.Builder
	if err := sample().WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| class | attempts | root, full | user, landlock |\n| --- | --- | --- | --- |\n| files | 2 | 1 held, 1 vacuous | 1 held, 1 gap |\n",
		"| all | 2 |", `| files | read | open a\|b | held | held |`,
		"- gap, user, landlock, no mounts: much: *files/stat*\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "8 bytes") {
		t.Error("it has evidence in it, which changes with every run")
	}
}
