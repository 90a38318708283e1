package install_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/extensions/install"
)

func TestEntriesAreRefused(t *testing.T) {
	method := func(m uint16) func(*zip.FileHeader) { return func(h *zip.FileHeader) { h.Method = m } }
	for name, c := range map[string]struct {
		more []file
		rule string // part of it
	}{
		"link":               {[]file{{name: "extension/l", text: "/etc/passwd", mode: os.ModeSymlink | 0o777}}, "a regular file or a folder expected"},
		"device":             {[]file{{name: "extension/d", mode: os.ModeDevice | 0o666}}, "a regular file or a folder expected"},
		"folder as a file":   {[]file{{name: "extension/d", mode: os.ModeDir | 0o777}}, "a regular file or a folder expected"},
		"absolute":           {[]file{{name: "/etc/cron.d/x", text: "x"}}, "found an absolute one"},
		"above":              {[]file{{name: "extension/../../x", text: "x"}}, `found ".."`},
		"backslash":          {[]file{{name: `extension\..\x`, text: "x"}}, `found \`},
		"drive":              {[]file{{name: "extension/c:x", text: "x"}}, "some systems refuse"},
		"stream":             {[]file{{name: "extension/main.js::$DATA", text: "x"}}, "some systems refuse"},
		"dot":                {[]file{{name: "extension/./x", text: "x"}}, "a clean path expected"},
		"empty element":      {[]file{{name: "extension//x", text: "x"}}, "a clean path expected"},
		"control character":  {[]file{{name: "extension/a\x00b", text: "x"}}, "without control characters"},
		"no UTF-8":           {[]file{{name: "extension/\xff", text: "x"}}, "UTF-8"},
		"dot at the end":     {[]file{{name: "extension/x.", text: "x"}}, "some systems drop"},
		"device of Windows":  {[]file{{name: "extension/src/Aux.js", text: "x"}}, "that of a device"},
		"port of Windows":    {[]file{{name: "extension/com1", text: "x"}}, "that of a device"},
		"long name":          {[]file{{name: "extension/" + strings.Repeat("x", 256), text: "x"}}, "at most 255 bytes"},
		"long path":          {[]file{{name: "extension/" + strings.Repeat("xxxxxxx/", 128), text: ""}}, "at most 1024 bytes"},
		"deep path":          {[]file{{name: "extension/" + strings.Repeat("x/", 64) + "x", text: "x"}}, "at most 64 elements"},
		"outside":            {[]file{{name: "else/x", text: "x"}}, "an entry in extension/ expected"},
		"signature":          {[]file{{name: "extension.x", text: "x"}}, "an entry in extension/ expected"},
		"case":               {[]file{{name: "extension/Main.js", text: "x"}}, "differ in more than case expected, found extension/main.js too"},
		"case of folders":    {[]file{{name: "extension/a/x", text: "x"}, {name: "extension/A/y", text: "x"}}, "differ in more than case"},
		"case of the prefix": {[]file{{name: "Extension/x", text: "x"}}, "an entry in extension/ expected"},
		"case, Kelvin":       {[]file{{name: "extension/k", text: "x"}, {name: "extension/\u212a", text: "x"}}, "differ in more than case"},
		"twice":              {[]file{{name: "extension/main.js", text: "x"}}, "found two"},
		"file and folder":    {[]file{{name: "extension/main.js/x", text: "x"}}, "found two"},
		"encrypted":          {[]file{{name: "extension/x", text: "x", alter: func(h *zip.FileHeader) { h.Flags |= 1 }}}, "not encrypted"},
		"compression":        {[]file{{name: "extension/x", alter: method(12)}}, "found method 12"},
	} {
		t.Run(name, func(t *testing.T) {
			data := archive(t, whole("1.0.0", c.more...)...)
			_, err := install.Open(t.Context(), write(t, data), install.Limits{})
			var e *install.EntryError
			if !errors.As(err, &e) || !errors.Is(err, install.ErrEntry) {
				t.Fatalf("the error is %v", err)
			}
			if e.Entry != c.more[len(c.more)-1].name || !strings.Contains(e.Rule, c.rule) {
				t.Errorf("the error is %v, want %q", err, c.rule)
			}
		})
	}
}

func init() {
	// Method 12 (bzip2) is only written, and refused before it is read.
	zip.RegisterCompressor(12, func(w io.Writer) (io.WriteCloser, error) { return nopCloser{w}, nil })
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func TestManifestsAreRefused(t *testing.T) {
	good := whole("1.0.0")
	with := func(name, text string) []file {
		var out []file
		for _, f := range good {
			if f.name == name {
				f.text = text
			}
			if f.name != name || text != "" {
				out = append(out, f)
			}
		}
		return out
	}
	for name, c := range map[string]struct {
		files []file
		want  string
	}{
		"no package.json": {with("extension/package.json", ""), "package.json expected, found none"},
		"no vsixmanifest": {with("extension.vsixmanifest", ""), "extension.vsixmanifest expected, found none"},
		"no JSON":         {with("extension/package.json", "{"), "not JSON"},
		"no XML":          {with("extension.vsixmanifest", "<PackageManifest>"), "XML"},
		"other XML":       {with("extension.vsixmanifest", "<a/>"), "PackageManifest"},
		"other version":   {with("extension.vsixmanifest", outer("1.0.1", "")), "names Acme.words 1.0.1, and package.json acme.words 1.0.0"},
		"other name":      {with("extension.vsixmanifest", strings.ReplaceAll(outer("1.0.0", ""), "words", "swords")), "names Acme.swords"},
		"no version":      {with("extension/package.json", packageJSON("one")), "a version like 1.2.3"},
		"no publisher":    {with("extension/package.json", strings.Replace(packageJSON("1.0.0"), `"publisher": "acme", `, "", 1)), "a publisher and a name"},
		"bad publisher":   {with("extension/package.json", strings.Replace(packageJSON("1.0.0"), `"acme"`, `"ac me"`, 1)), "a publisher and a name"},
		"no engine":       {with("extension/package.json", strings.Replace(packageJSON("1.0.0"), "engines", "motors", 1)), "engines"},
		"large manifest":  {with("extension/package.json", packageJSON("1.0.0")+strings.Repeat(" ", 1<<20)), "at most 1048576 bytes"},
		"entities in XML": {with("extension.vsixmanifest", `<!DOCTYPE x [<!ENTITY a "b">]>`+strings.Replace(outer("1.0.0", ""), "words", "&a;", 1)), "XML"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := install.Open(t.Context(), write(t, archive(t, c.files...)), install.Limits{})
			if !errors.Is(err, install.ErrManifest) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
		})
	}
}

func TestLargePackagesAreRefused(t *testing.T) {
	zeros := strings.Repeat("\x00", 20<<20)
	bomb := write(t, archive(t, whole("1.0.0", file{name: "extension/zeros", text: zeros})...))
	if _, err := install.Open(t.Context(), bomb, install.Limits{}); !errors.Is(err, install.ErrLimit) || !strings.Contains(err.Error(), "times as many") {
		t.Errorf("20 MiB of zeros: %v", err)
	}
	plain := write(t, archive(t, whole("1.0.0")...))
	from := t.TempDir()
	put(t, from, file{name: "package.json", text: packageJSON("1.0.0")}, file{name: "main.js", text: "x"})
	for _, limits := range []install.Limits{{Packed: 100}, {Entries: 3}, {Size: 200}} {
		if _, err := install.Open(t.Context(), plain, limits); !errors.Is(err, install.ErrLimit) {
			t.Errorf("%+v: %v", limits, err)
		}
	}
	for _, limits := range []install.Limits{{Entries: 1}, {Size: 100}} {
		if _, err := install.Open(t.Context(), from, limits); !errors.Is(err, install.ErrLimit) {
			t.Errorf("folder, %+v: %v", limits, err)
		}
	}
	if p, err := install.Open(t.Context(), bomb, install.Limits{Ratio: 2000}); err != nil {
		t.Errorf("with a higher limit: %v", err)
	} else if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// An archive with a million entries is refused before each of them takes memory, whatever its
// end says about their number.
func TestLongListIsRefusedWithoutMemory(t *testing.T) {
	const entries = 1 << 20 // of 47 bytes; 65,536 times 16
	record := append([]byte("PK\x01\x02"), make([]byte, 43)...)
	record[28], record[46] = 1, 'a' // length of the name, the name
	list := bytes.Repeat(record, entries)
	le := binary.LittleEndian
	// end returns the end of an archive in its old form.
	end := func(count uint16, size uint32) []byte {
		b := append([]byte("PK\x05\x06"), make([]byte, 4)...)
		b = le.AppendUint16(le.AppendUint16(b, count), count)
		return append(le.AppendUint32(b, size), make([]byte, 6)...)
	}
	// long returns it with the numbers in 64 bits.
	long := func(count, size uint64) []byte {
		b := le.AppendUint64([]byte("PK\x06\x06"), 44)
		b = append(b, make([]byte, 12)...)
		b = le.AppendUint64(le.AppendUint64(b, count), count)
		b = append(le.AppendUint64(b, size), make([]byte, 8)...)
		b = append(b, "PK\x06\x07\x00\x00\x00\x00"...)
		b = le.AppendUint32(le.AppendUint64(b, size), 1)
		return append(b, end(0xffff, 0xffffffff)...)
	}
	for name, end := range map[string][]byte{
		"number modulo 65536": end(0, uint32(len(list))),
		"zip64":               long(entries, uint64(len(list))),
		"zip64, number false": long(0, uint64(len(list))),
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, append(bytes.Clone(list), end...))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := install.Open(t.Context(), path, install.Limits{Entries: 1000, Ratio: 1000})
			runtime.ReadMemStats(&after)
			if !errors.Is(err, install.ErrLimit) || !strings.Contains(err.Error(), "1000") {
				t.Errorf("the error is %v", err)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 8<<20 {
				t.Errorf("%d bytes were taken, want at most 8 MiB", took)
			}
		})
	}
}

// An entry whose data are more or less than its size says is found when it is unpacked, and
// nothing is installed.
func TestEntryOfAnotherSizeIsNotInstalled(t *testing.T) {
	for _, size := range []uint64{1, 40} {
		data := archive(t, whole("1.0.0")...)
		at := strings.LastIndex(string(data), "PK\x01\x02") // the last entry of the list: main.js
		data[at+24] = byte(size)
		p := open(t, write(t, data))
		in := &install.Installer{Dir: t.TempDir()}
		if _, err := in.Install(t.Context(), p); err == nil {
			t.Errorf("a file of %d bytes by the list was installed", size)
		}
		if got := scanned(t, in.Dir); got != "" {
			t.Errorf("a scan finds %q", got)
		}
	}
}

func TestEntriesThatOverlapAreRefused(t *testing.T) {
	data := archive(t, whole("1.0.0")...)
	at := strings.LastIndex(string(data), "PK\x01\x02")
	data[at+20], data[at+21] = 0xff, 0x02 // its compressed size: more than there is beside the others
	var e *install.EntryError
	_, err := install.Open(t.Context(), write(t, data), install.Limits{})
	if !errors.As(err, &e) || !strings.Contains(e.Rule, "overlap") {
		t.Errorf("the error is %v", err)
	}
}

func TestOtherFilesAreNoPackages(t *testing.T) {
	for _, data := range []string{"", "PK", "<html>"} {
		if _, err := install.Open(t.Context(), write(t, []byte(data)), install.Limits{}); !errors.Is(err, install.ErrPackage) {
			t.Errorf("%q: %v", data, err)
		}
	}
	if _, err := install.Open(t.Context(), filepath.Join(t.TempDir(), "none.vsix"), install.Limits{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}
