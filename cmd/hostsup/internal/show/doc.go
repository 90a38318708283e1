// Package show formats a supervisor's documents as text for people: tables, lines
// and reports, for a [Screen] with some width and colour. It is pure: the time and
// the screen are arguments.
//
// Text from hosts is not trusted: none of it reaches a terminal as a control
// sequence. In piped output a host's output is left unchanged.
package show
