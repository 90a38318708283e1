package throttle_test

import (
	"fmt"
	"time"

	"github.com/hostsup/hostsup/intercept/throttle"
)

func ExampleMachine() {
	m, err := throttle.New[string]([]throttle.Rule{{Method: "didChange", Every: 16 * time.Millisecond, Key: "uri"}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Unix(0, 0)
	params := throttle.JSON([]byte(`{"uri": "file:///a"}`))
	fmt.Println("at once:", m.Push("didChange", "change 1", params, now))
	fmt.Println("held:   ", m.Push("didChange", "change 2", params, now))
	fmt.Println("held:   ", m.Push("didChange", "change 3", params, now))
	due, _ := m.Due()
	fmt.Println(due.Sub(now), "later:", m.Fire(due))
	// Output:
	// at once: [change 1]
	// held:    []
	// held:    []
	// 16ms later: [change 3]
}
