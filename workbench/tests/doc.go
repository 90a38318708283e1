// Package tests has the test controllers of extensions (tests.createTestController): the trees of tests that
// a window shows in its test explorer, and their runs. Without a window a program lists the tests with
// [Service.Read] and runs them with [Service.Run]; [Service.Runs] has the results of the last runs, also of
// those that an extension has begun by itself. A Go program finds the service of a host with [Of].
//
// # Names of tests
//
// The id of a test has the ids of its controller, of the tests above it and its own, with "::" between
// them. Within each of them % is written as %25, a colon beside another one or at an end as %3A, and a
// control character as % and two hexadecimal digits. So each test of a host has one id, which stays the same
// as long as its extension does not change it.
//
// # What is not there
//
// Profiles of tests are run as they are, also those for debugging and coverage, but nothing debugs and no
// coverage is kept. Continuous runs, and the proposed API that observes the tests of other extensions, have
// no result here. What a life has registered ends with it; the results of its runs stay.
package tests
