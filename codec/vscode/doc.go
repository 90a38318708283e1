// Package vscode is the wire of VS Code's extension host, spoken with the
// unmodified host program of an installed build: in the place of the editor. It
// is JSON calls between named objects, in binary messages, over the framing of
// package persistent. It knows no process, file or socket: how hosts are found,
// met and opened is in package extensions/vscode.
//
// # Calls
//
// Both sides hold objects, called actors, whose methods the other side calls:
// ExtHostCommands, for example, is the host's, MainThreadCommands ours. A method
// is called by both names, and its params are the array of its arguments:
//
//	ExtHostCommands.$executeContributedCommand ["hello.greet","you"]
//
// On the wire actors are numbers, which are others in each release, see [Actors].
// The init data name the
// build's version and commit for the same reason: a host refuses those of another
// build with exit 55, which is final.
//
// A call is acknowledged as soon as the other side has begun with it, and
// answered later; so a host that works is told from one that hangs. A
// notification is a call whose answer is ignored. What a host asks and
// no rule or handler answers is answered as by an editor without anything in it, or
// refused (see [Language.Answer]).
//
// # What JSON has no word for
//
// Payloads are JSON, and objects of one key stand for the rest:
//
//	{"$buffer": "aGVsbG8="}  bytes in base64
//	{"$undefined": true}     undefined
//	{"$object": …}           a value in which there are buffers or undefined
//	{"$token": true}         a cancellation token, as the last argument
//
// The first three are an argument or a result as a whole; within {"$object": …}
// the first two may be anywhere. A key of the data that looks like one of them,
// however many dollar signs it begins with, has one more in front in JSON than
// on the wire, so that nothing can be mistaken. Of a result that is undefined
// nothing is left, which reads as null; that of a call that is answered with
// null is null.
//
// Only a call with a token can be cancelled in the host. Without one the host
// goes on, and its answer is ignored. A token costs an argument, so that it is
// for methods that expect one. Calls of the host that have one show it.
//
// # Errors
//
// An error of the host has its name, message, stack, number and cause; Data is
// all of it as it came, with properties that are none of these, such as a code
// that is text. What is thrown and is no error is in Data and, as text, in the
// message. Cancellation is [codec.NameCancelled] here and "Canceled" there, in
// both directions, and a method or actor that the host does not have is
// [codec.NameMethodNotFound].
//
// # A life
//
// The host says that it is ready, gets its init data, and says that it has them.
// Then it is given its configuration and its workspace, which opens its gate; see
// [Opening]. What it asks meanwhile is answered. In the end it is told to
// terminate: it deactivates its extensions, five seconds at most, in which it may
// still ask, and exits with 0. A stop has to leave it the time: half of the grace
// is for that, 12 seconds by default.
//
// # Bounds
//
// The original knows no largest message; here [codec.Limits] hold, for the data
// of a frame, before memory is set aside. Of a message that was let in a payload
// may take twice that as JSON.
//
// # Order and concurrency
//
// Append may run on one goroutine and the Reader on another.
package vscode
