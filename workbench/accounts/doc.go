// Package accounts has authentication for extensions: vscode.authentication. Providers of accounts are
// those that extensions register, in whatever host of a workbench, and those of the program (see
// [Provider]). Which extension may use an account is decided by a policy, because there is no user to
// ask; see [Options].
//
// Tokens go from a provider to the extension that asked and nowhere else: they are in no event and no
// log line of this package, a [Token] does not print itself, and each one is given to Options.Hold.
//
// NOTE: the id of the extension that asks is what its host says. Extensions of one host share a process
// and can read the memory of each other. The policy therefore keeps accounts from an extension that is
// hostile only if that extension has a host of its own, in which no other extension may use them.
package accounts
