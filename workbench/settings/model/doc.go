// Package model has the settings of VS Code as values: models of files, of defaults that
// extensions contribute, and their differences. It does not touch the system, except that [Read]
// reads a file.
package model
