// Package newhost writes a project to begin a host with: a program that answers calls, a
// test of it and a configuration. Each language is a folder beside this file.
package newhost

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

//go:embed */*
var templates embed.FS

// template is what the names of files end with that would otherwise be those of another
// program, or module, in the middle of this one.
const template = ".tmpl"

// ErrExists means that the folder has files already, so that nothing was written.
var ErrExists = errors.New("the folder is not empty")

// ErrLanguage means that there is no project for the language.
var ErrLanguage = errors.New("no project for this language")

// Languages returns the names that Write accepts, sorted.
func Languages() []string {
	entries, err := templates.ReadDir(".")
	if err != nil {
		return nil // it is a part of the program
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// Next returns what is to be done in the folder before "hostsup run", a command a line.
func Next(language string) []string {
	switch language {
	case "typescript":
		return []string{"npm install", "npm test"}
	case "go":
		return []string{"go mod tidy", "go test .", "go build -o greeter ."}
	case "python":
		return []string{"python3 -m venv .venv && . .venv/bin/activate", "pip install -r requirements.txt"}
	}
	return nil
}

// Write writes the project of a language into dir, which it makes if it is missing, and
// returns the files, relative to dir. It fails with [ErrLanguage], with [ErrExists] if dir
// has files, or with the error of the file system.
func Write(language, dir string) ([]string, error) {
	project, err := fs.Sub(templates, language)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", language, ErrLanguage)
	}
	if _, err := fs.Stat(project, "config.hcl"); err != nil {
		return nil, fmt.Errorf("%q: %w", language, ErrLanguage)
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("%s: %w", dir, ErrExists)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var files []string
	err = fs.WalkDir(project, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if e.IsDir() {
			return os.MkdirAll(path, 0o755)
		}
		text, err := fs.ReadFile(project, name)
		if err != nil {
			return err
		}
		files = append(files, strings.TrimSuffix(name, template))
		return os.WriteFile(strings.TrimSuffix(path, template), text, 0o644)
	})
	return files, err
}
