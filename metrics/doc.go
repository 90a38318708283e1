// Package metrics makes figures of a tree of hosts for Prometheus.
//
//	http.Handle("/metrics", metrics.New(sup, metrics.Options{}))
//
// The names begin with hostsup_; [Families] lists them. Whatever comes from outside is
// bounded: labels have the names of hosts, groups and exec servers, which are those of the
// configuration, and words from fixed lists.
//
// The figures of the tree are written as text here, and not collected by a Registry of
// Prometheus's library: for 1,000 hosts that would make, check, hash and sort some 20,000
// values at each scrape, and then write 40,000 lines, which takes several times as long.
// All other figures, and what a caller accepts, are that library's. To serve more figures,
// register them with Options.Registry.
//
//	go test ./metrics -run none -bench Scrape
//
// prints how long a scrape of 1,000 hosts takes.
package metrics
