// Package folders is the workspace of extensions: its folders, which extensions change with
// workspace.updateWorkspaceFolders, and whether it is trusted.
//
// Folders that extensions have added or removed stay so over the lives of their hosts, until the
// last host of the household is removed or the supervisor ends. All hosts are told of a change
// before the extension gets the result of its call.
package folders
