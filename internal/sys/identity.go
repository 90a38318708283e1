package sys

// FileID identifies a file among all that exist at the same time. The zero value
// identifies no file.
type FileID struct{ Device, Inode uint64 }
