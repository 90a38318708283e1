// Package files serves workspace.fs of extensions: files of this machine, and the file systems that
// extensions of any host of the workbench have registered.
//
// A file: URI is a file of this machine, which package workbench/disk reads and changes, under the
// [workbench.Guard] of the host that asks. Any other scheme is that of a provider; if no provider is registered,
// the activation event onFileSystem:SCHEME is requested first. A provider is called in the host that
// registered it, also for that host itself, and ends with the life of the host. Files are moved and
// copied between all of them.
//
// All hosts know which schemes there are and which of them cannot be written. Errors have the names
// from which the host makes those of vscode.FileSystemError.
package files
