package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/editors"
	"github.com/hostsup/hostsup/cmd/hostsup/internal/initial"
	"github.com/hostsup/hostsup/cmd/hostsup/internal/lists"
	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/internal/nearest"
)

// editorSide is an editor that is to use the hosts, and the file to change; "" only
// shows what belongs there.
type editorSide struct {
	editor editors.Editor
	file   string
}

// editorSides reads the values of --write-editor.
func editorSides(given []string) ([]editorSide, error) {
	var out []editorSide
	for _, arg := range given {
		name, file, hasFile := strings.Cut(arg, "=")
		switch {
		case !slices.Contains(editors.Names(), name):
			text := fmt.Sprintf("--write-editor %s: there are %s", arg, strings.Join(editors.Names(), ", "))
			if near := nearest.Question(name, editors.Names()); near != "" {
				text = fmt.Sprintf("--write-editor %s: %s", arg, near)
			}
			return nil, &usageError{text: text}
		case hasFile && file == "":
			return nil, usagef("--write-editor %s: the name of the file is empty", arg)
		}
		out = append(out, editorSide{editors.Editor(name), file})
	}
	return out, nil
}

// writeEditors shows the side of editors, or changes their files.
func (a *app) writeEditors(sides []editorSide, hosts []initial.Host) error {
	if len(sides) == 0 {
		return nil
	}
	attach := attachCommand(a.socket)
	var used []editors.Host
	for _, h := range hosts {
		if h.Kind != initial.Neovim {
			used = append(used, editors.Host{Name: h.Name, Known: h.Known, Language: h.Kind == initial.LanguageServer, Attach: append(slices.Clone(attach), h.Name)})
		}
	}
	var failed []error
	for _, side := range sides {
		if err := a.writeEditor(side, used); err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

func (a *app) writeEditor(side editorSide, hosts []editors.Host) error {
	text, left, err := editors.Show(side.editor, hosts)
	if err != nil {
		return err
	}
	for _, l := range left {
		fmt.Fprintf(a.errout, "not for %s: %s\n", side.editor, show.Clean(l))
	}
	switch {
	case text == "":
		return fmt.Errorf("--write-editor %s: it can use none of the hosts", side.editor)
	case side.file == "":
		a.out.line(fmt.Sprintf("For %s, in %s:", side.editor, side.editor.Where()))
		a.out.line(strings.TrimSuffix(text, "\n"))
		return nil
	}
	backup, err := patchFile(side, hosts)
	switch {
	case errors.Is(err, editors.ErrUnsafe):
		a.out.line(fmt.Sprintf("To be put into %s by hand:", show.Clean(side.file)))
		a.out.line(strings.TrimSuffix(text, "\n"))
		return fmt.Errorf("%s was not changed: %w", side.file, err)
	case err != nil:
		return fmt.Errorf("%s was not changed: %w", side.file, err)
	case backup == "":
		a.out.line(fmt.Sprintf("%s is set up for %s", show.Clean(side.file), side.editor))
	case backup == side.file:
		a.out.line(fmt.Sprintf("%s has everything for %s already", show.Clean(side.file), side.editor))
	default:
		a.out.line(fmt.Sprintf("%s is set up for %s; what it was is in %s", show.Clean(side.file), side.editor, show.Clean(backup)))
	}
	return nil
}

// patchFile puts hosts into the file of an editor, whole or not at all. It returns the
// path of the copy of the former file, "" if there was none, and the path of the file
// itself if nothing had to change.
func patchFile(side editorSide, hosts []editors.Host) (backup string, err error) {
	src, err := readEditorFile(side.file)
	isNew := errors.Is(err, fs.ErrNotExist)
	if err != nil && !isNew {
		return "", err
	}
	if side.editor != editors.Neovim {
		if err := lists.CheckDepth(src); err != nil {
			return "", err
		}
	}
	out, _, err := editors.Patch(side.editor, src, hosts)
	if err != nil {
		return "", err
	}
	if isNew {
		if err := os.MkdirAll(filepath.Dir(side.file), 0o755); err != nil {
			return "", err
		}
		return "", writeNew(side.file, out, 0o644, false)
	}
	if bytes.Equal(out, src) {
		return side.file, nil
	}
	info, err := os.Stat(side.file)
	if err != nil {
		return "", err
	}
	if backup, err = keep(side.file, src); err != nil {
		return "", err
	}
	if err := writeNew(side.file, out, info.Mode().Perm(), true); err != nil {
		return "", errors.Join(err, os.Remove(backup))
	}
	return backup, nil
}

func readEditorFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readBounded(file, path)
}

// mostBackups bounds the copies that are kept beside a file.
const mostBackups = 100

// keep writes a copy of a file that nobody else may read: it may have secrets that the
// file has no longer.
func keep(path string, text []byte) (string, error) {
	for n := range mostBackups {
		backup := path + ".before-hostsup"
		if n > 0 {
			backup = fmt.Sprintf("%s-%d", backup, n+1)
		}
		err := writeNew(backup, text, 0o600, false)
		if _, there := os.Lstat(backup); err != nil && there == nil {
			continue
		}
		return backup, err
	}
	return "", fmt.Errorf("there are %d copies of it already: remove %s.before-hostsup-*", mostBackups, path)
}

// attachCommand returns the command of an editor, without the host: this program by its
// name if PATH has it, and with the socket of the supervisor, which agents that pass on
// few variables would not find.
func attachCommand(socket string) []string {
	program := "hostsup"
	if self, err := os.Executable(); err == nil && !inPath(program, self) {
		program = self
	}
	path := config.SocketPath(config.SystemEnv(), socket, "")
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return []string{program, "attach", "--socket", path}
}

// inPath reports whether PATH has the program self under a name.
func inPath(name, self string) bool {
	found, err := exec.LookPath(name)
	if err != nil {
		return false
	}
	one, err1 := os.Stat(found)
	other, err2 := os.Stat(self)
	return err1 == nil && err2 == nil && os.SameFile(one, other)
}
