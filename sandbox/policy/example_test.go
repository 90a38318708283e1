package policy_test

import (
	"fmt"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// A policy begins with a profile and adds what the program works on.
func ExampleMerge() {
	base, _ := policy.Profile("strict")
	p := policy.Merge(base, policy.Policy{
		Level: policy.NoCgroup,
		Write: []string{"/srv/app/data"},
		Deny:  []string{"/srv/app/data/.env"},
	})
	fmt.Println(p.Profile, p.Level, p.Write, p.Deny, p.Network)
	// Output: strict no-cgroup [/srv/app/data] [/srv/app/data/.env] none
}

// Validate reports all mistakes at once, each with a remedy.
func ExamplePolicy_Validate() {
	p := policy.Policy{
		Level: policy.Landlock,
		Read:  []string{"/proc"},
		Deny:  []string{"/srv/.env"},
		Source: map[string]string{
			"read[0]": "policy.hcl:3",
			"deny[0]": "policy.hcl:4",
		},
	}
	for _, e := range policy.Errors(p.Validate(policy.Limits{Tasks: -1})) {
		fmt.Println(e.Where, e.Field, e.Reason)
	}
	// Output:
	// policy.hcl:3 read[0] a confined process has a /proc of its own, which shows its own processes
	// policy.hcl:4 deny[0] it cannot be enforced at level landlock, which this policy accepts: without mounts, what lies in a grant cannot be taken out of it
	//  limits.tasks it is negative
}
