// Package stores has the stores of secrets that come with hostsup: the keyring of
// the system (the Secret Service, Keychain, Credential Manager), a file encrypted
// with age, and the keyring where there is one and else the file. [Options] say
// which; they are the Secrets of a supervisor.Spec, and [Options.Open] returns what
// package secret reads through.
//
// The file is opened with an identity, which is a file too, for its owner alone; a
// key is never taken from an environment variable, since the environment of a
// process can be read in many places and is handed on. Under systemd the identity
// is a credential. Nothing is opened before the first secret is asked for, and
// the keyring is looked for anew with each operation: it may come later than the
// supervisor, which starts with the machine.
//
// This package is apart from package secret so that only programs that use these
// stores link D-Bus and age.
package stores
