// Package tasks reads the tasks of a tasks.json of a workspace folder, in VS Code's version 2.0.0. It is
// pure: package workbench/terminals runs the tasks.
//
// A task of the type "shell" or "process" is complete with its file. One of another type needs what an
// extension says about that type ([Definitions]), and the task that the extension provides for it
// ([Task.Customize]).
package tasks
