// Package glob matches paths with the patterns of VS Code:
//
//   - any characters of one name, also none
//     **       any names, also none, if it is a whole name of the pattern; else the same as *
//     ?        one character of a name
//     [a-c]    one character of a set; [!a-c] and [^a-c] one that is not in it. It never matches a slash
//     {a,b}    one of several patterns, which may contain slashes and further braces
//
// Paths have slashes. A pattern matches a whole path, and case matters. Names that begin with a dot
// are like others. a/** also matches a itself. A slash at the end of a pattern and space around it
// are ignored; \ is an ordinary character.
//
// A match takes time in proportion to the length of the path times the length of the pattern at
// most, also for patterns that were made to be slow. The usual patterns, such as **/*.go,
// **/node_modules and lists of them in braces, take a few comparisons, and none allocates memory.
package glob
