// Package throttle thins out notifications that come faster than their
// receiver needs them: of several of the same method and key within an
// interval the first is sent at once, of the rest the latest, when the interval
// is over.
//
// It is for notifications whose last one says it all (a cursor, a whole text, a
// progress). Messages of which each one counts, like incremental changes, must
// have no rule.
//
// # Order
//
// What is held back never overtakes another message of the same key, and is not
// overtaken by one: any message, throttled or not, in which the path of a rule
// leads to the key of something held makes that go first. Messages without that
// key have no order with it, and what a rule without a key holds has none with
// other methods. Messages sent by one call of the machine are in the order in
// which they were pushed. What is no notification has its place in that order,
// too: [Machine.Clear] says what has to go before it, [Machine.Pass] does so for
// one that must not be left out.
//
// # Purity
//
// A [Machine] is changed by its methods alone, which are functions of what it
// was and of their arguments: no clock, no goroutine, no I/O. It is not safe
// for concurrent use. The caller sends what is returned, at once and in order,
// and calls [Machine.Fire] at the time that [Machine.Due] says.
//
// # Limits
//
// At most [MaxKeys] keys are followed at once; messages of further ones are sent
// as they are. More than [MaxHeld] bytes are not held: all of them are sent then.
// Nothing is lost by that, and nothing by [Machine.Drain], which an orderly
// shutdown calls before its goodbye. [Machine.Drop] is for one that is not.
package throttle
