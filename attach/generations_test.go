package attach

import (
	"testing"

	"github.com/hostsup/hostsup/codec"
)

func TestOpens(t *testing.T) {
	t.Parallel()
	modern := `{"_meta":{"` + metaVersion + `":"2026-07-28"}}`
	for _, c := range []struct {
		kind                 codec.Kind
		method, params, want string
	}{
		{codec.Request, "initialize", `{"protocolVersion":"2025-06-18"}`, withSession},
		{codec.Request, "initialize", `{}`, withSession},
		{codec.Request, "initialize", `{"protocolVersion":"2026-07-28"}`, withoutSession},
		{codec.Request, "server/discover", modern, withoutSession},
		{codec.Request, "tools/list", modern, withoutSession},
		{codec.Request, "ping", `{}`, ""},
		{codec.Request, "tools/list", `{"_meta":{"` + metaVersion + `":"2025-11-25"}}`, ""},
		{codec.Notification, "initialize", modern, ""},
	} {
		got, opening := opens(&codec.Message{Kind: c.kind, Method: c.method, Params: codec.Raw(c.params)})
		if got != c.want || isSessionless(versionOf(opening)) != (got == withoutSession) {
			t.Errorf("%s %s: %q, %s", c.method, c.params, got, opening)
		}
	}
}

func TestSeparate(t *testing.T) {
	t.Parallel()
	const old, now = withSession, withoutSession
	for _, c := range []struct {
		speaks, used, runs string
		has, want          bool
	}{
		{"", now, now, true, false},
		{old, "", "", false, false}, // the first one
		{old, "", "", true, false},
		{old, old, "", true, false},
		{old, now, "", false, true}, // the host is being started for the other
		{old, now, now, false, true},
		{now, old, old, false, true},
		{now, now, now, true, false},
		{now, "", old, false, false}, // it is started anew
		{now, "", old, true, true},
		{old, "", old, true, false},
	} {
		if got := separate(c.speaks, c.used, c.runs, c.has); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
