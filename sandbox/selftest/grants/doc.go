// Package grants compares what confined processes reach with a model of what
// their policies grant. It has nothing but tests.
//
// A case is made from a seed: a tree of files with links, mounts and owners, two
// policies that share folders of it, and lives in which the confined process
// changes the tree as far as it can, also while another start is under way. The
// model says for each start whether it must be refused and why, and for each path
// what must and what may be reached; a confined process reports what it reaches in
// fact. A case that fails is made smaller as long as it still fails.
//
// The model shares no code with package policy: it looks at the tree by itself and
// knows only the promises of docs/security.md and docs/configuration.md.
//
//	go test ./sandbox/selftest/grants                   a few cases, as ./test does
//	make confine-model SEEDS=5000                       many
//	go test ./sandbox/selftest/grants -seed 77 -seeds 1 one of them
package grants
