// Extensions-host is a host of two extensions, one of which depends on the other. A
// supervisor runs it:
//
//	host "tools" {
//	  command     = ["go", "run", "./examples/extensions-host"]
//	  inherit_env = ["PATH", "HOME"]
//	  start {
//	    timeout = "5m" # the first time, Go compiles it
//	  }
//	  init        = { "acme.format" = { width = 40 } }
//	  extensions {
//	    declare "acme.words" {
//	      methods = ["words.split"]
//	    }
//	    declare "acme.format" {
//	      events     = ["onLanguage:plaintext"]
//	      methods    = ["format.run"]
//	      depends_on = ["acme.words"]
//	    }
//	  }
//	}
//
// and then:
//
//	hostsup activate onLanguage:plaintext
//	hostsup extensions
//	hostsup call tools format.run '"a text that is longer than a line"'
//	hostsup extension disable acme.format
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hostsup/hostsup/sdk"
)

func main() {
	s := sdk.New(sdk.Info{Name: "extensions-host", Version: "1.0"})
	words(s)
	format(s)
	if err := s.Serve(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "extensions-host:", err)
		os.Exit(1)
	}
}

// words has no preparations: it is ready when it is active.
func words(s *sdk.Server) {
	x := sdk.Extend(s, sdk.Manifest{ID: "acme.words", Version: "1.0"})
	sdk.Handle(x, "words.split", func(_ context.Context, text string) ([]string, error) {
		return strings.Fields(text), nil
	}, sdk.Inline())
}

// format has settings, and a goroutine besides its calls.
func format(s *sdk.Server) {
	type settings struct {
		Width int `msgpack:"width"`
	}
	var set settings
	var lines atomic.Int64
	x := sdk.Extend(s, sdk.Manifest{
		ID: "acme.format", Version: "1.2", Events: []string{"onLanguage:plaintext"}, DependsOn: []string{"acme.words"},
		Activate: func(_ context.Context, a *sdk.Activation) error {
			set = settings{Width: 80}
			if err := a.Decode(&set); err != nil {
				return err
			}
			if set.Width < 10 {
				return fmt.Errorf("a width of %d is too small", set.Width)
			}
			log := a.Log()
			log.Info("ready", "for", a.Event, "width", set.Width)
			a.Go(func(ctx context.Context) {
				for every := time.NewTicker(time.Minute); ; {
					select {
					case <-every.C:
						log.Info("so far", "lines", lines.Load())
					case <-ctx.Done(): // the extension is deactivated
						every.Stop()
						return
					}
				}
			})
			return nil
		},
		Deactivate: func(context.Context) error {
			fmt.Printf("%d lines in all\n", lines.Load()) // stdout belongs to the program
			return nil
		},
	})
	sdk.Handle(x, "format.run", func(_ context.Context, text string) ([]string, error) {
		var out []string
		line := ""
		for _, word := range strings.Fields(text) {
			if line != "" && len(line)+1+len(word) > set.Width {
				out, line = append(out, line), ""
			}
			line = strings.TrimSpace(line + " " + word)
		}
		lines.Add(int64(len(out) + 1))
		return append(out, line), nil
	})
}
