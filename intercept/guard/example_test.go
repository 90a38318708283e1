package guard_test

import (
	"fmt"
	"time"

	"github.com/hostsup/hostsup/intercept/guard"
)

func ExampleParseGrants() {
	g, _ := guard.ParseGrants([]string{"workspace.read"}, nil)
	fmt.Println(g.Check("workspace/configuration"))
	fmt.Println(g.Check("workspace/applyEdit"))
	_, err := guard.ParseGrants([]string{"workspace.reed"}, nil)
	fmt.Println(err)
	// Output:
	// <nil>
	// permission denied: "workspace/applyEdit" takes workspace.write, which is not granted
	// no such permission: "workspace.reed"; did you mean "workspace.read"?
}

func ExampleNewLimiter() {
	now := time.Now()
	l := guard.NewLimiter(guard.Rate{Count: 1, Per: time.Minute})
	fmt.Println(l.Check(now))
	fmt.Println(l.Check(now))
	// Output:
	// <nil>
	// too many requests: limit 1/m; the next in 1m0s
}

func ExampleNewRules() {
	r, _ := guard.NewRules(append(guard.DefaultRules(), guard.Rule{Method: "db/*", Permission: guard.WorkspaceRead}))
	fmt.Println(r.Permission("db/get"))
	fmt.Println(r.Permission("anything/else"))
	// Output:
	// workspace.read true
	//  false
}

func ExampleNewPathRules() {
	r, _ := guard.NewPathRules([]string{"/"})
	at, err := r.Locate("file:///not%20there/yet")
	fmt.Println(at.Path(), err)
	fmt.Println(r.Check("https://example.org/"))
	// Output:
	// /not there/yet <nil>
	// not a path of a file: a file:// URI or an absolute path expected
}
