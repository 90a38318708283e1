// Package show turns what a supervisor says into text for people: tables,
// lines and reports, for a [Screen] of some width and colour. It is pure: the
// time and the screen are arguments.
//
// Text that comes from hosts is not trusted. Nothing of it reaches a terminal
// as a control sequence; in output that is piped on, what a host has printed is
// left as it is.
package show
