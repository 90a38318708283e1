package supervisor

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/intercept/answer"
	"github.com/hostsup/hostsup/intercept/feed"
	"github.com/hostsup/hostsup/intercept/guard"
	"github.com/hostsup/hostsup/intercept/health"
	"github.com/hostsup/hostsup/intercept/meter"
	"github.com/hostsup/hostsup/intercept/secret"
	"github.com/hostsup/hostsup/intercept/throttle"
	"github.com/hostsup/hostsup/link"
)

// chain returns the interceptors of a host, in the order in which they are passed:
//
//	feed, meter,
//	health            see everything
//	guard             refuses what may not be, before anybody answers
//	secrets           are the host's own, and nobody else's to answer
//	throttle          holds back what is sent
//	prepare           what the program gives a life
//	evidence          sees what is sent, behind all others, and what comes, before them
//	(attach, extensions, and those of the program come here, see [Host.Ref])
//	answers           by rule
//	vault             the secrets of extensions
//	notifications     what nobody has taken goes to the program's callback
//
// Behind them the protocol itself answers.
func (t *tree) chain(spec HostSpec) func(*actors.Ref) []*actors.Interceptor {
	return func(host *actors.Ref) []*actors.Interceptor {
		secrets := secret.New(spec.Secrets, host, t.secrets)
		followers, answers := kept(host)
		if followers == nil {
			followers, answers = feed.New(host, nil), &answer.Answers{}
		}
		followers.Show(secrets.Show)
		answers.Replace(spec.Answers, spec.Protocol, t.world.Ref)
		list := []*actors.Interceptor{followers.Interceptor()}
		if spec.Protocol != nil {
			list = append(list, meter.New(host), secrets.Vault())
		}
		if i := guard.New(spec.Guard, host); i != nil {
			list = append(list, i)
		}
		list = append(list, secrets.Interceptor())
		if i := throttle.Interceptor(spec.Throttle, host); i != nil {
			list = append(list, i)
		}
		if spec.Prepare != nil {
			list = append(list, &actors.Interceptor{Name: "prepare", Stage: actors.StageServe, Starting: spec.prepare})
		}
		if spec.Healthy != nil {
			list = append(list, health.Interceptor(host, func(ctx context.Context) error { return spec.Healthy(ctx, t.sup.handle(host)) }))
		}
		for _, f := range spec.Features {
			list = append(list, f.Interceptor(host))
		}
		if t.evidence != nil {
			list = append(list, t.evidence.Interceptors(host)...)
		}
		list = append(list, answers.Interceptor())
		if t.notify != nil {
			list = append(list, &actors.Interceptor{Name: "notifications", Stage: actors.StageLast, Inbound: t.notified(host)})
		}
		return list
	}
}

// kept returns what stays the same when a host is given another configuration, and what
// its [Host] asks; nil before the first.
func kept(host *actors.Ref) (*feed.Feed, *answer.Answers) {
	f, _ := host.Interceptor("feed").(*feed.Feed)
	a, _ := host.Interceptor("answers").(*answer.Answers)
	return f, a
}

// prepare asks Prepare what a life is given.
func (s HostSpec) prepare(ctx context.Context, start *actors.Start) error {
	var given Prepared
	err := link.Contain(func() (err error) {
		given, err = s.Prepare(ctx, start.Life)
		return err
	})
	if err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	maps.Copy(start.Env, given.Env)
	start.Args = append(start.Args, given.Args...)
	return nil
}

// notified hands on the notifications of a host. A panic of the callback is logged, and
// no fault of the host.
func (t *tree) notified(host *actors.Ref) func(uint64, *codec.Message) actors.Verdict {
	return func(life uint64, m *codec.Message) (v actors.Verdict) {
		if m.Kind != codec.Notification {
			return v
		}
		err := link.Contain(func() error {
			t.notify(Notification{host.Name(), life, m.Method, m.Params, host.Encoding()})
			return nil
		})
		var d *link.PanicError
		if errors.As(err, &d) {
			t.world.Log.Error("the callback for notifications panicked", "host", host.Name(), "method", m.Method, "panic", d.Value, "stack", string(d.Stack))
		}
		return v
	}
}
