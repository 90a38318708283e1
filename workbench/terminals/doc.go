// Package terminals runs the terminals and tasks of extensions, on pseudo-terminals and without a
// window: window.createTerminal, tasks.executeTask, tasks.fetchTasks.
//
// A terminal is started as the process of its host is: as the same user, in the same sandbox and
// environment, with a process tree of its own. It ends with the life of the host whose extension
// made it. The last output of each terminal is kept; see [Service.List].
package terminals
