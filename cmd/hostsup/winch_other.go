//go:build !unix

package main

import "os"

// sizeChanges returns a channel that never receives.
func sizeChanges() chan os.Signal { return make(chan os.Signal) }
