package allow_test

import (
	"fmt"

	"github.com/hostsup/hostsup/sandbox/allow"
)

func ExampleParse() {
	rules, err := allow.Parse([]string{"db.example:5432", "*.cdn.example:443", "127.0.0.1:8080"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(rules.Allows("a.cdn.example", 443), rules.Allows("cdn.example", 443), rules.Allows("10.0.0.5", 5432))

	_, err = allow.Parse([]string{"db.example"})
	fmt.Println(err)
	// Output:
	// true false false
	// allow[0]: "db.example": no port; write db.example:443, or db.example:* for every port
}
