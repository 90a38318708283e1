// Package languages knows the languages that extensions of VS Code contribute, also those without
// code: their ids, which files are in them, and their configuration (comments, brackets, words).
//
// A [Registry] is a value that was made from manifests; a [Service] tells hosts of the current one
// and keeps the status items of languages. What a language is called follows VS Code: a file's
// language is found by files.associations, then by its name, by a pattern, by the longest extension,
// and at last by its first line. What was contributed later wins. Case does not matter.
//
// Expressions are compiled by package regexp. Those that it does not have, with look-around, match
// nothing.
package languages
