// Package guard holds the rules by which a host may be refused what it asks
// for: permissions for its requests, a rate for them, folders that its paths have
// to lie in, and checksums of what is started. It decides and enforces nothing
// by itself; it knows no host, actor or connection.
//
// # Permissions
//
// There are 28, named as DSCode's manifests name them ([Permissions]).
// [Rules] say which one a method takes; [DefaultRules] has the methods of the
// protocols that hosts speak. A method that no rule fits takes none: it is
// answered, or not, by whoever answers requests. [Grants] are what a host was
// given; nothing is granted that was not named.
//
// # Paths
//
// [PathRules] follow a path as the kernel would, link by link, and say where it
// ends; see there for what does not exist yet, and for what a check cannot
// promise. A [ParamCheck] finds the paths in the parameters of a request.
//
// # Order and concurrency
//
// All types are safe for concurrent use. Grants, Rules and PathRules do not
// change. Only [PathRules] and [Verify] look at files.
package guard
