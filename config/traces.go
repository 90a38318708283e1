package config

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// Traces configures where OpenTelemetry traces are sent.
type Traces struct {
	Endpoint string // base URL of the receiver; "": as the variables OTEL_EXPORTER_OTLP_… say
	Headers  map[string]string
	Sample   float64 // share of the traces that begin here, from 0 to 1
}

func tracesSection(t *Traces) section {
	return section{
		name: "traces", doc: "OpenTelemetry traces of calls and restarts, over OTLP/HTTP; without this block nothing is traced.",
		settings: []setting{
			named("endpoint", "base URL of the receiver; default: as OTEL_EXPORTER_OTLP_ENDPOINT and its like say", receiver(&t.Endpoint)),
			named("headers", "of each request to the receiver", headers(&t.Headers)),
			named("sample", "share of traces that are sent, of those that no caller has begun", fraction(&t.Sample, 0, 1)),
		},
	}
}

// receiver reads the base URL of a receiver.
func receiver(dst *string) setting {
	const expect = `a URL such as "http://127.0.0.1:4318"`
	return checked(dst, expect, func(g given) {
		if u := webURL(*dst); u == nil || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
			g.bad("%q is not %s.", *dst, expect)
		}
	})
}

// webURL returns a URL of HTTP with a host, or nil if text is something else.
func webURL(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil
	}
	return u
}

// headerName is a name of a header of HTTP.
var headerName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$") })

// checkHeaderName returns what is wrong with the name of a header, or "".
func checkHeaderName(name string) string {
	if !headerName().MatchString(name) {
		return "The name of a header has letters, digits and dashes."
	}
	return ""
}

// headers reads headers of HTTP.
func headers(dst *map[string]string) setting {
	const expect = `a map of strings such as { Authorization = "Bearer …" }`
	return setting{expect: expect,
		read: func(g given) {
			entries, ok := g.entries(expect)
			if !ok {
				return
			}
			list := make(map[string]string, len(entries))
			for _, e := range entries {
				if wrong := checkHeaderName(e.key); wrong != "" {
					g.fail(e.keyRng, fmt.Sprintf("invalid name %q in %s", e.key, g.name), "%s", wrong)
				}
				s, is := e.str("a string")
				if is && strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
					e.bad("It contains a control character.")
				}
				list[e.key] = s
			}
			*dst = list
		},
		show: func() string { return "" },
	}
}
