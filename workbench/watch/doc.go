// Package watch tells extensions what changes in files: workspace.createFileSystemWatcher.
//
// [Watcher] watches files and folders of this machine, [Service] answers hosts with it. Folders of the
// workspace are watched for every host from its start, as an editor does, because a host does not ask
// for those: a watcher of a plain pattern is served by them.
//
// # What it promises
//
// Changes are collected for [Delay] and told once: a file that was made and removed in that time is
// not told, one that was removed and made again has changed, and of a removed folder the folder alone
// is told. A file that another one was renamed over has changed. A folder that appears is watched, and
// what was put into it before is told. What does not exist is watched for until it does.
//
// What the system has no room for is reported once with the setting to raise. When the system has
// dropped events, all folders are read again.
//
// # Goroutines
//
// A Watcher with something to watch has one goroutine and that of its library; both end with the last
// watch, or with Close.
package watch
