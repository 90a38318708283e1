// Package mpack is MessagePack from peers that are not trusted: a check that
// comes before every decode, a cursor that takes values apart without
// copying them, appenders that write them, and the encoding of Go values and
// of JSON that hostsup's MessagePack protocols share.
//
// # Why a check comes first
//
// A decoder believes what it reads. Ten bytes that claim an array of 2^32
// elements make it set aside 64 GiB, a bin that claims 4 GiB sets aside 4 GiB,
// and a few megabytes of nested arrays overflow its stack, which no recover
// catches. [Check] walks over the bytes once, without recursion and without
// setting memory aside, and accepts only what cannot do that. [Scanner] is the
// same check for a value whose bytes are still coming.
//
// # Go values
//
// [Encoding] uses github.com/vmihailenco/msgpack/v5. Struct fields are named
// by their `msgpack` tag, else by their `json` tag, else by their name.
// Integers take the fewest bytes, floats keep their type, []byte is bin,
// [time.Time] the timestamp extension, [codec.Raw] in any place is the value
// it holds. Unknown keys are ignored. What the library does not check stays
// the caller's to know: an integer too large for its Go field is cut to the
// field's size, and a value of a recursive Go type that points to itself
// cannot be encoded.
//
// A pointer to any, map[string]any or []any is decoded by this package: nil,
// bool, int64 (uint64 only above its range), float64, string, []byte,
// [time.Time], [Ext], []any, and map[string]any, whose keys that are no
// strings become their text. The same holds for a map inside an any that is a
// field of some struct; the scalars and arrays of such an any come as the
// library has them, integers in the width they have on the wire, and an
// extension it does not know there is an error.
//
// # Promises
//
// Check, the cursor and the appenders set no memory aside beyond what
// appending needs. Nothing panics for bad bytes, decodes into memory that the
// bytes present do not justify, or changes the slices it is given. Encoding
// is safe for concurrent use; a Cursor or a Scanner belongs to one goroutine.
package mpack
