// Package service makes the extension the unit of supervision: it carries out
// what the machines of packages activation, location and blame decide, on the
// hosts of a supervisor.
package service
