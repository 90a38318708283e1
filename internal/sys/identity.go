package sys

// FileID tells a file from every other one that exists at the same time. The
// zero value stands for none.
type FileID struct{ Device, Inode uint64 }
