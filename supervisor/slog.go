package supervisor

import (
	"context"
	"io"
	"log"
	"log/slog"
	"slices"

	"github.com/hashicorp/go-hclog"
)

// levelTrace is what hclog's trace is for slog.
const levelTrace = slog.LevelDebug - 4

// slogLog is a logger of hclog that writes to one of slog.
type slogLog struct {
	to   *slog.Logger
	name string // with those of the loggers above it
	args []any  // of With
}

var _ hclog.Logger = slogLog{}

func (s slogLog) Log(level hclog.Level, msg string, args ...any) {
	l := slog.LevelInfo
	switch level {
	case hclog.Trace:
		l = levelTrace
	case hclog.Debug:
		l = slog.LevelDebug
	case hclog.Warn:
		l = slog.LevelWarn
	case hclog.Error:
		l = slog.LevelError
	}
	if !s.is(l) {
		return
	}
	all := slices.Concat(s.args, args)
	if s.name != "" {
		all = slices.Insert(all, 0, any("logger"), any(s.name))
	}
	s.to.Log(context.Background(), l, msg, all...)
}

func (s slogLog) Trace(msg string, args ...any) { s.Log(hclog.Trace, msg, args...) }
func (s slogLog) Debug(msg string, args ...any) { s.Log(hclog.Debug, msg, args...) }
func (s slogLog) Info(msg string, args ...any)  { s.Log(hclog.Info, msg, args...) }
func (s slogLog) Warn(msg string, args ...any)  { s.Log(hclog.Warn, msg, args...) }
func (s slogLog) Error(msg string, args ...any) { s.Log(hclog.Error, msg, args...) }

func (s slogLog) is(l slog.Level) bool { return s.to.Enabled(context.Background(), l) }

func (s slogLog) IsTrace() bool { return s.is(levelTrace) }
func (s slogLog) IsDebug() bool { return s.is(slog.LevelDebug) }
func (s slogLog) IsInfo() bool  { return s.is(slog.LevelInfo) }
func (s slogLog) IsWarn() bool  { return s.is(slog.LevelWarn) }
func (s slogLog) IsError() bool { return s.is(slog.LevelError) }

func (s slogLog) ImpliedArgs() []any { return s.args }

func (s slogLog) With(args ...any) hclog.Logger {
	s.args = slices.Concat(s.args, args)
	return s
}

func (s slogLog) Name() string { return s.name }

func (s slogLog) Named(name string) hclog.Logger {
	if s.name != "" {
		name = s.name + "." + name
	}
	s.name = name
	return s
}

func (s slogLog) ResetNamed(name string) hclog.Logger {
	s.name = name
	return s
}

// SetLevel does nothing: the handler behind the slog.Logger decides.
func (s slogLog) SetLevel(hclog.Level) {}

// GetLevel returns the lowest level that is logged.
func (s slogLog) GetLevel() hclog.Level {
	for level, is := range []bool{s.IsTrace(), s.IsDebug(), s.IsInfo(), s.IsWarn(), s.IsError()} {
		if is {
			return hclog.Trace + hclog.Level(level)
		}
	}
	return hclog.Off
}

func (s slogLog) StandardLogger(*hclog.StandardLoggerOptions) *log.Logger {
	return slog.NewLogLogger(s.to.Handler(), slog.LevelInfo)
}

func (s slogLog) StandardWriter(o *hclog.StandardLoggerOptions) io.Writer {
	return s.StandardLogger(o).Writer()
}
