// Package problems finds problems in what a task writes, by the problem matchers of VS Code. It is pure.
//
// A [Registry] has the matchers and patterns that are known by name: those of the editor itself and those that
// extensions contribute. A [Collector] gets the lines of a task and returns what its matchers find.
//
// Expressions of JavaScript are compiled by package regexp, whose time is linear: a line cannot stop the
// editor. Those that package regexp does not have, with look-around or a reference to a group, are refused.
package problems
