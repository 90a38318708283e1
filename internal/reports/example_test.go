package reports_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/hostsup/hostsup/internal/reports"
)

type crash struct {
	Host, Reason string
}

func ExampleOpen() {
	store, err := reports.Open[crash]("", reports.Options{}) // with a folder: on disk
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Date(2026, 11, 21, 12, 3, 5, 0, time.UTC)
	id := reports.NewID("typescript-7", now)
	if err := store.Add(id, now, "typescript", crash{"typescript", "killed by SIGSEGV"}); err != nil {
		fmt.Println(err)
	}

	report, err := store.Get("20261121-1203") // enough to tell it from others
	fmt.Println(id, report.Reason, err)
	_, err = store.Get("20271121")
	fmt.Println(errors.Is(err, reports.ErrNotFound))
	fmt.Println(store.Close())
	// Output:
	// 20261121-120305.000-typescript-7 killed by SIGSEGV <nil>
	// true
	// <nil>
}
