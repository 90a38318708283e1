package main

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/attach/mcphttp"
	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/control"
)

// connectOptions holds the flags of connect.
type connectOptions struct {
	connect, idle    time.Duration
	maxMessage       int
	allowUnencrypted bool
}

func (a *app) connectVerb() *cobra.Command {
	var o connectOptions
	cmd := &cobra.Command{
		Use:   "connect URL",
		Short: "Make standard input and output a client of an MCP server over HTTP",
		Long: `Make standard input and output a client of an MCP server that is reached over
HTTP (Streamable HTTP), for programs that only start servers. A host with url in
the configuration is this verb, supervised: it is started again when the session
is lost, and its clients go on.

HOSTSUP_CONNECT_TOKEN is sent as Authorization: Bearer TOKEN, or the content of
the file of --token-file is. HOSTSUP_CONNECT_HEADERS has further headers, one
NAME: VALUE a line. Arguments are seen by all users of the machine: a token does
not belong into the URL.

The exit code is 1, with the reason as the last line of standard error, when the
server cannot be reached, refuses the token or has ended the session. Proxies are
used as HTTPS_PROXY, HTTP_PROXY and NO_PROXY say.`,
		Example: `  hostsup connect https://mcp.example/mcp
  hostsup attach -- hostsup connect https://mcp.example/mcp`,
		Args:              args(1, 1, "URL"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, given []string) error {
			return a.connect(cmd, o, given[0])
		},
	}
	f := cmd.Flags()
	f.DurationVar(&o.connect, "connect-timeout", 10*time.Second, "of an attempt to connect, and for which a server that cannot be reached is tried again")
	f.DurationVar(&o.idle, "idle-timeout", 0, "without a byte after which a stream counts as cut off (default: never)")
	f.IntVar(&o.maxMessage, "max-message", codec.Limits{}.WithDefaults().Frame, "bytes of the largest message")
	f.BoolVar(&o.allowUnencrypted, "allow-unencrypted", false, "allow http:// to another machine")
	return cmd
}

func (a *app) connect(cmd *cobra.Command, o connectOptions, address string) error {
	remote := &mcphttp.Remote{ConnectTimeout: o.connect, IdleTimeout: o.idle, Headers: http.Header{}}
	var err error
	if remote.URL, err = remoteURL(address, o.allowUnencrypted); err != nil {
		return err
	}
	if remote.MaxMessage = o.maxMessage; o.maxMessage < 1<<10 || o.maxMessage > 1<<30 {
		return usagef("--max-message %d: a number from 1024 to %d is expected", o.maxMessage, 1<<30)
	}
	if o.connect <= 0 || o.idle < 0 {
		return usagef("--connect-timeout and --idle-timeout must not be negative, and the first one not zero")
	}
	// The variables behind --ca and its like are for the supervisor's console, whose token
	// must not be sent to another server.
	if remote.TLS, err = tlsFiles(a.ca, a.cert, cmp.Or(a.key, a.cert)); err != nil {
		return err
	}
	token := os.Getenv("HOSTSUP_CONNECT_TOKEN")
	if a.tokenFile != "" {
		if token, err = control.ReadToken(a.tokenFile); err != nil {
			return err
		}
	}
	if token = strings.TrimSpace(token); token != "" {
		remote.Headers.Set("Authorization", "Bearer "+token)
	}
	if err := addHeaders(remote.Headers, os.Getenv("HOSTSUP_CONNECT_HEADERS")); err != nil {
		return err
	}
	var mu sync.Mutex
	remote.Log = func(text string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(a.errout, "hostsup: %s\n", show.Clean(text))
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := remote.Connect(ctx, a.in, a.out); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// remoteURL returns the URL of a server, or an error that is wrong use.
func remoteURL(text string, unencrypted bool) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.Fragment != "":
		return nil, usagef("%q is not a URL such as https://mcp.example/mcp", text)
	case u.User != nil:
		return nil, usagef("a user and a password in a URL are seen by all users of the machine: set HOSTSUP_CONNECT_TOKEN, or HOSTSUP_CONNECT_HEADERS")
	case u.Scheme == "http" && !unencrypted && !config.IsLoopback(u.Hostname()):
		return nil, usagef("%s is another machine, and http:// is not encrypted: use https://, or --allow-unencrypted", u.Hostname())
	}
	return u, nil
}

// addHeaders adds headers that are written one a line. What is wrong with one is said without
// its value, which may be a secret.
func addHeaders(h http.Header, text string) error {
	n := 0
	for line := range strings.Lines(text) {
		n++
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if name = strings.TrimSpace(name); !ok || name == "" || value == "" || strings.ContainsAny(name, " \t") {
			return usagef("HOSTSUP_CONNECT_HEADERS: line %d is not NAME: VALUE", n)
		}
		h.Add(name, value)
	}
	return nil
}
