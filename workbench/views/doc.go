// Package views has the trees that extensions show in their views (window.createTreeView and
// window.registerTreeDataProvider). Without a window a program reads them: [Service.State] lists the
// views, [Service.Read] asks an extension for the items of one, and [Service.Act] does what a user does
// with an item. A Go program finds the service of a host with [Of].
//
// # Visibility
//
// A view is not visible until an extension reveals an item of it (TreeView.reveal), or a program shows it
// ([Show]). It stays visible until a program hides it or its life ends. Reading a view does not change
// that.
//
// # Order and concurrency
//
// Items are read from the extension each time, because the host keeps them and says when they change;
// [Service.Subscribe] tells of changes. What a life has registered ends with it.
package views
