package leaktest

import (
	"os"
	"syscall"
)

// WriteProgram is [os.WriteFile] for a file that is to be started: no child of this
// process gets it open for writing. A child that another test is just forking would
// have it so until its exec, and the kernel does not start a file that is open for
// writing ("text file busy").
func WriteProgram(path string, text []byte, mode os.FileMode) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, text, mode)
}
