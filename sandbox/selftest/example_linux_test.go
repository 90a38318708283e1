package selftest_test

import (
	"context"
	"log"
	"os"

	"github.com/hostsup/hostsup/sandbox/selftest"
)

// A program that confines others can have itself checked at the place where it
// runs: half a minute, as the user it is.
func ExampleRun() {
	report, err := selftest.Run(context.Background(), selftest.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err := report.WriteText(os.Stdout); err != nil {
		log.Fatal(err)
	}
	if err := report.Err(); err != nil {
		log.Fatal(err)
	}
}
