package supervisor

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
)

// TestSlogHasLevelNameAndAttributes writes a line of each level by a named logger.
func TestSlogHasLevelNameAndAttributes(t *testing.T) {
	var out bytes.Buffer
	noTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	to := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: noTime}))
	l := slogLog{to: to}.Named("ts").Named("life").With("life", 7)
	for _, level := range []hclog.Level{hclog.Trace, hclog.Debug, hclog.Info, hclog.Warn, hclog.Error} {
		l.Log(level, "said", "n", 1)
	}
	l.ResetNamed("other").Error("late")
	want := `level=DEBUG msg=said logger=ts.life life=7 n=1
level=INFO msg=said logger=ts.life life=7 n=1
level=WARN msg=said logger=ts.life life=7 n=1
level=ERROR msg=said logger=ts.life life=7 n=1
level=ERROR msg=late logger=other life=7
`
	if got := out.String(); strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if l.IsTrace() || !l.IsDebug() || l.GetLevel() != hclog.Debug || l.Name() != "ts.life" {
		t.Errorf("level %v, name %q", l.GetLevel(), l.Name())
	}
}
