// Package secret keeps values that hosts need and that nobody else is to see:
// it reads them from where they are stored, holds them for as short as it can,
// and finds them in what hosts say, so that they can be taken out of it.
//
// # Where secrets are
//
// A [Store] reads named secrets through a [Source]: an interface, so that this
// package links no keyring and no encryption. Package intercept/secret/stores has the
// keyring of the system and a file encrypted with age. Nothing is opened before the
// first secret is asked for.
//
// # How long they are held
//
// What was read is kept in memory for the time given to [Open], and then overwritten
// with zeros; also when it is replaced, removed, or the store is closed. A
// [Redactor] holds a value for as long as somebody who was given it may say it.
// Both hold bytes of their own. What the keyring's library, an environment that
// is handed to a process, or a decoded message hold meanwhile are strings of the
// Go runtime, which nobody can overwrite: they are gone when the collector has
// taken them, and may be read by whoever can read the memory of this process.
//
// # Where they are looked for
//
// A [Redactor] replaces values by [redacted: NAME]: as they are, as base64 (also
// within a longer text), percent-encoded, and as JSON and Go quote them. What a
// host makes of a value in other ways (hashes, encrypts, spells backwards, prints
// letter by letter) is not found. Values have at least [MinValue] bytes, so that
// looking for them does not hit everything else.
//
// # Order and concurrency
//
// All types are safe for concurrent use. A Store works on its source one
// operation at a time. A reading of a Store that begins after a change has
// returned sees that change. Other processes' changes are seen by [Store.Fresh]
// at once, and by [Store.Get] when the cache is over.
//
// This package never logs, never prints, and has no value in an error.
package secret
