package health

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
)

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		rule  Rule
		p     codec.Protocol
		wants string // in the first complaint; "": none
	}{
		{Rule{TCP: "127.0.0.1:80"}, nil, ""},
		{Rule{TCP: "[::1]:80"}, nil, ""},
		{Rule{Exec: []string{"true"}}, nil, ""},
		{Rule{Call: "ping"}, native.New(), ""},
		{Rule{}, nil, "it has none"},
		{Rule{TCP: "127.0.0.1:80", Call: "ping"}, native.New(), "it has tcp, call"},
		{Rule{Call: "ping"}, nil, "without a protocol"},
		{Rule{TCP: "127.0.0.1"}, nil, "expected HOST:PORT"},
		{Rule{TCP: ":80"}, nil, "expected HOST:PORT"},
		{Rule{TCP: "a:http"}, nil, `port "http"`},
		{Rule{TCP: "a:0"}, nil, `port "0"`},
		{Rule{Exec: []string{""}}, nil, "expected a program"},
		{Rule{TCP: "a:1", Threshold: -1}, nil, "expected at least 1"},
		{Rule{TCP: "a:1", Interval: -1}, nil, "negative"},
	} {
		text := fmt.Sprint(c.rule.Validate(c.p))
		if c.wants == "" && text != "<nil>" || !strings.Contains(text, c.wants) {
			t.Errorf("%+v: %q, expected %q", c.rule, text, c.wants)
		}
	}
}

func TestNameOfACheck(t *testing.T) {
	for want, r := range map[string]Rule{
		"exec pg_isready": {Exec: []string{"pg_isready", "-q"}},
		"tcp h:1":         {TCP: "h:1"},
		"call ping":       {Call: "ping"},
	} {
		if got := r.String(); got != want {
			t.Errorf("%q, expected %q", got, want)
		}
	}
}
