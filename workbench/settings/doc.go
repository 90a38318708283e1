// Package settings is the configuration of extensions: it reads settings files of the user, of
// the workspace and of its folders, changes them, and tells hosts.
//
// # Scopes
//
// The user's settings are in a file of their own. A workspace with one folder has its settings in
// .vscode/settings.json of the folder; with several folders, each has such a file for the settings
// that folders may have, and those of the workspace are in a file of this package. Where a setting
// may be written is decided as in VS Code, with its messages.
//
// # Files
//
// A change of a setting changes only its text in the file. Files are replaced by new ones in one
// step. If a file cannot be read, its last good settings stay, and the mistake is reported once
// with the file and the line. Within a workspace folder no link is followed that leads out of it.
//
// # Order and concurrency
//
// A host gets a change before the extension gets the result of the call that made it. Calls that
// change a file are made one after the other.
package settings
