package denial_test

import (
	"fmt"

	"github.com/hostsup/hostsup/sandbox/denial"
)

func ExampleNewLog() {
	log := denial.NewLog(0)
	for range 3 {
		log.Add(denial.Denial{Kind: denial.Read, Path: "/etc/shadow", Source: denial.Landlock})
	}
	for _, d := range log.List() {
		fmt.Println(d)
	}
	// Output: read /etc/shadow (3 times): add to sandbox: read = ["/etc/shadow"]
}

func ExampleSuggest() {
	log := denial.NewLog(0)
	log.Add(denial.Denial{Kind: denial.Exec, Path: "/usr/bin/git"})
	log.Add(denial.Denial{Kind: denial.Exec, Path: "/usr/bin/ssh"})
	log.Add(denial.Denial{Kind: denial.Read, Path: "/srv/ts/host.js"})
	log.Add(denial.Denial{Kind: denial.Connect, Path: "db.example:5432", Field: "allow"})
	p := denial.Suggest(log.List())
	fmt.Println(p.Exec, p.Read, p.Network, p.Allow)
	// Output: [/usr/bin/git /usr/bin/ssh] [/srv/ts/host.js] allow [db.example:5432]
}
