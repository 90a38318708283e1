package server

import (
	"bytes"

	"github.com/hostsup/hostsup/execserver/wire"
)

// denialWords are what programs print, in upper or lower case, when a sandbox has
// refused them something. The protocol's first server has the same list.
var denialWords = [][]byte{
	[]byte("operation not permitted"), []byte("permission denied"), []byte("read-only file system"),
	[]byte("seccomp"), []byte("sandbox"), []byte("landlock"), []byte("failed to write file"),
}

// longestDenial is the length of the longest of them.
const longestDenial = len("operation not permitted")

// killedByFilter is the exit code of a process that SIGSYS has ended.
const killedByFilter = 128 + 31

// looksDenied guesses whether a confined process has failed for its sandbox: by
// its exit code, and by the last MiB of its output, which is what the protocol's
// first server keeps. The caller must hold the lock.
func (p *process) looksDenied() bool {
	if !p.params.confined || p.code == 0 {
		return false
	}
	if p.code == killedByFilter {
		return true
	}
	var tail []byte // of the chunks before, in small letters
	older := p.kept.bytes - wire.RetainBytes
	for i := range p.kept.n {
		if older > 0 {
			older -= len(p.kept.at(i).data)
			continue
		}
		text := append(tail, bytes.ToLower(p.kept.at(i).data)...)
		for _, w := range denialWords {
			if bytes.Contains(text, w) {
				return true
			}
		}
		tail = text[max(0, len(text)-longestDenial):]
		tail = tail[:len(tail):len(tail)]
	}
	return false
}
