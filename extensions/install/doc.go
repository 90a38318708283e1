// Package install installs extensions of VS Code into a folder that hosts scan: from a
// .vsix file, or from a folder with an unpacked extension.
//
//	p, err := install.Open(ctx, "words.vsix", install.Limits{})
//	…
//	defer p.Close()
//	err = p.Verify("sha256:…")
//	result, err := (&install.Installer{Dir: "/srv/extensions", Products: []string{"1.100.3"}}).Install(ctx, p)
//
// [Open] reads and checks a package, [Package.Verify] compares its digest, and
// [Installer.Install] unpacks it. [Installer.Rollback] makes the version before the one in
// use, and [Installer.Uninstall] removes all. Package registry, below this one, gets packages
// by a URL.
//
// # What is promised
//
// A version is unpacked into a temporary folder, written to the disk, and renamed. It comes
// into use when the list of package index is replaced, which is one rename. So a process that
// is killed, or a machine that stops, at any moment leaves the old or the new state, whole.
// What else it leaves is removed by the next operation that changes the folder.
//
// Versions are folders of their own. A host that runs goes on with the files of the version
// it knows until it scans the folder again: a version that is no longer listed is removed by
// [Installer.Clean] or the next operation, not at once.
//
// # What is refused
//
// An entry is refused, with its name and the rule, if it is a link or a special file, is
// encrypted, has a name that is absolute, has "..", differs from another only in case, or
// cannot be a file on all systems, or if it is outside of extension/. A package is refused if
// it exceeds [Limits], or if its two manifests differ. Nothing in a package is run.
//
// # Concurrency
//
// All functions are safe for concurrent use. One process at a time changes a folder; others
// wait, see [Installer].
package install
