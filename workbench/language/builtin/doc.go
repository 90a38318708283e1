// Package builtin finds in a text what the editor of VS Code finds without extensions: words and where
// they occur, what is folded by its indentation, and what a selection grows to. It is pure. It knows no
// grammar, so that brackets in strings and comments count as others do.
package builtin
