//go:build !unix

package dscode

import "errors"

var noProcess = errors.New("no such process")

func isReset(error) bool { return false }
