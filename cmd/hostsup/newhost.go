package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/newhost"
	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/internal/nearest"
)

// newHost writes a project to begin a host with into the folder.
func (a *app) newHost(language string, folders []string) error {
	if len(folders) != 1 {
		return usagef(`--new-host takes the folder to write to: hostsup init --new-host %s DIR`, language)
	}
	dir := folders[0]
	files, err := newhost.Write(language, dir)
	if errors.Is(err, newhost.ErrLanguage) {
		text := fmt.Sprintf("--new-host %s: there is a project for %s", show.Clean(language), strings.Join(newhost.Languages(), ", "))
		if near := nearest.Question(language, newhost.Languages()); near != "" {
			text += ": " + near
		}
		return &usageError{text: text}
	}
	if errors.Is(err, newhost.ErrExists) {
		return fmt.Errorf("%w: name one that is empty or missing", err)
	}
	if err != nil {
		return err
	}
	a.out.line(fmt.Sprintf("%s has a host in %s: %s", show.Clean(dir), language, strings.Join(files, ", ")))
	a.out.line("next, in that folder:")
	for _, step := range append(newhost.Next(language), "hostsup run") {
		a.out.line("  " + step)
	}
	return nil
}
