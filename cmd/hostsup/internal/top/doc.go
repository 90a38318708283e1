// Package top is the live view of a supervisor in a terminal: hostsup top.
//
// What decides is pure: a model takes messages (a key, a new status, lines of a log) and
// returns effects (ask for the status, follow a log, stop a host). [Run] carries them out
// over the control API, and draws the screen with bubbletea.
//
// It asks for the status every two seconds, and within a quarter of a second after an event.
// What it keeps is bounded: the last 500 events, and the last 1,000 lines of the one host
// whose log is shown. When the supervisor goes away, the last status stays on the screen
// until there is one again.
package top
