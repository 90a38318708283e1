//go:build !unix

package main

import "os"

// sizeChanges never tells of any.
func sizeChanges() chan os.Signal { return make(chan os.Signal) }
