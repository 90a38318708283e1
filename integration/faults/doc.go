// Package faults puts faults into a supervisor that runs as a process, one at a time and in
// pairs, while clients make calls over its socket, by attach and to its exec server. Each
// call must have one outcome and in time, each host must be there once again afterwards, and the
// supervisor must give back what it has used.
package faults
