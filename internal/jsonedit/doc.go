// Package jsonedit changes one value in a text of JSON with comments and leaves all other text
// as it is: comments, order and indentation.
//
// [Set] and [Remove] check that nothing but that value has changed, and refuse with [ErrUnsafe]
// what they cannot do without a loss.
//
// NOTE: the parser recurses without a limit. A text that is not the user's own must be checked
// with package encoding/json first, which has a limit.
package jsonedit
