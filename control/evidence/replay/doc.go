// Package replay sends the messages that a crash report holds to a fresh, confined instance of the
// host, and tells whether it crashes again in the same way.
//
// [Confined] returns the host as it is run: the same command with a policy that is at least as
// strict, without a network, and with a temporary folder as the only one that it may write. [Run] is
// one try: requests and notifications are sent in their order, with the pauses of the report up to
// [Options].Pause, and an answer is waited for where the report has one before the next message.
// [Minimize] finds a smaller list of messages with which the host still crashes.
//
// Requests of the host are answered by rule or refused, because a report does not hold the answers.
package replay
