//go:build !unix

package disk

import (
	"io/fs"
	"os"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// Hosts are not confined on these systems, and files have no owners that a rename would lose.

func allows(*policy.Resolved, fs.FileInfo, fs.FileMode) bool { return false }
func owns(*policy.Resolved, fs.FileInfo) bool                { return false }
func linked(fs.FileInfo) bool                                { return false }
func give(*os.File, fs.FileInfo) error                       { return nil }
