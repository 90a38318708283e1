package supervisor

import (
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/intercept/secret"
)

// cleanLog is a logger that takes values of secrets out of what it is given.
type cleanLog struct {
	hclog.Logger
	redact *secret.Redactor
}

func redactedLog(l hclog.Logger, r *secret.Redactor) hclog.Logger { return cleanLog{l, r} }

// clean redacts what goes with a message. The list stays the caller's.
func (l cleanLog) clean(args []any) []any {
	if !l.redact.Active() {
		return args
	}
	out := make([]any, len(args))
	for i, a := range args {
		out[i] = l.redact.Value(a)
	}
	return out
}

func (l cleanLog) Log(level hclog.Level, msg string, args ...any) {
	l.Logger.Log(level, l.redact.String(msg), l.clean(args)...)
}

func (l cleanLog) Trace(msg string, args ...any) {
	l.Logger.Trace(l.redact.String(msg), l.clean(args)...)
}

func (l cleanLog) Debug(msg string, args ...any) {
	l.Logger.Debug(l.redact.String(msg), l.clean(args)...)
}

func (l cleanLog) Info(msg string, args ...any) {
	l.Logger.Info(l.redact.String(msg), l.clean(args)...)
}

func (l cleanLog) Warn(msg string, args ...any) {
	l.Logger.Warn(l.redact.String(msg), l.clean(args)...)
}

func (l cleanLog) Error(msg string, args ...any) {
	l.Logger.Error(l.redact.String(msg), l.clean(args)...)
}

// With, Named and ResetNamed make loggers that do the same.
func (l cleanLog) With(args ...any) hclog.Logger {
	return cleanLog{l.Logger.With(l.clean(args)...), l.redact}
}

func (l cleanLog) Named(name string) hclog.Logger {
	return cleanLog{l.Logger.Named(name), l.redact}
}

func (l cleanLog) ResetNamed(name string) hclog.Logger {
	return cleanLog{l.Logger.ResetNamed(name), l.redact}
}
