package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/internal/version"
)

// buildInfo is the output of `version --json`.
type buildInfo struct {
	Version  string  `json:"version"`
	Commit   *string `json:"commit"`   // null if unknown
	Modified bool    `json:"modified"` // built from a tree with changes
	Go       string  `json:"go"`
	OS       string  `json:"os"`
	Arch     string  `json:"arch"`
	Protocol int     `json:"protocol"` // number of hostsup's own protocol
}

func (a *app) versionVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of the program",
		Args:  args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			b := readBuildInfo()
			if a.json {
				a.out.jsonDocument(b)
			} else {
				a.out.line(b.String())
			}
			return nil
		},
	}
	a.jsonFlag(cmd, "print one JSON document")
	return cmd
}

func readBuildInfo() buildInfo {
	b := buildInfo{Version: version.Version(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Protocol: native.Version}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = &s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// String returns, for example, `hostsup v0.1.0 (commit 0123456789ab) go1.26.8
// linux/amd64, protocol 1`.
func (b buildInfo) String() string {
	commit := ""
	if b.Commit != nil {
		commit = " (commit " + (*b.Commit)[:min(len(*b.Commit), 12)]
		if b.Modified {
			commit += ", with changes"
		}
		commit += ")"
	}
	return fmt.Sprintf("hostsup %s%s %s %s/%s, protocol %d", b.Version, commit, b.Go, b.OS, b.Arch, b.Protocol)
}
