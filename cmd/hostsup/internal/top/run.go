package top

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/samples"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

const (
	// pollEvery is how often the status is asked for.
	pollEvery = 2 * time.Second
	// pollSoon is how long after an event it is.
	pollSoon = 250 * time.Millisecond
	// askWithin bounds the wait for an answer that does not take long.
	askWithin = 10 * time.Second
	// retryEvents is how long after the end of a stream the next one is asked for.
	retryEvents = time.Second
	// gather is how long events or lines are gathered before the screen is drawn again.
	gather = 100 * time.Millisecond
	// framesPerSecond bounds how often the screen is drawn.
	framesPerSecond = 20
)

// Source is the supervisor that is looked at: a [control.Client].
type Source interface {
	Status(ctx context.Context, names ...string) (*supervisor.Status, error)
	Caller(ctx context.Context) (*control.Caller, error)
	Samples(ctx context.Context, q samples.Query) (*samples.History, error)
	Events(ctx context.Context, follow bool) iter.Seq2[supervisor.Event, error]
	Logs(ctx context.Context, host string, n int, follow bool) iter.Seq2[capture.Line, error]
	Crash(ctx context.Context, id string) (*record.CrashReport, error)
	Start(ctx context.Context, host string) (*record.HostStatus, error)
	Stop(ctx context.Context, host string) (*record.HostStatus, error)
	Restart(ctx context.Context, host string) (*record.HostStatus, error)
	Reset(ctx context.Context, host string) (*record.HostStatus, error)
}

// Run shows the live view on a terminal until the person leaves it or ctx ends. What it
// has asked for ends with it; no answer is waited for.
func Run(ctx context.Context, src Source, in io.Reader, out *os.File, screen show.Screen) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &program{ctx: ctx, src: src, model: newModel(screen), unfollow: func() {}, soon: make(chan struct{}, 1)}
	_, err := tea.NewProgram(p, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithFPS(framesPerSecond)).Run()
	if err != nil && ctx.Err() != nil {
		return nil
	}
	return err
}

// program carries out for bubbletea what the model asks for.
type program struct {
	ctx      context.Context
	src      Source
	model    *model
	unfollow context.CancelFunc // ends the log that is followed
	soon     chan struct{}      // asks for the status before it is due

	// Of poll, which is under way once at a time.
	role    control.Role
	sampled uint64 // the last sample that is known
}

// Init implements tea.Model.
func (p *program) Init() tea.Cmd {
	return tea.Batch(p.poll(0), p.events(nil))
}

// View implements tea.Model.
func (p *program) View() tea.View {
	v := tea.NewView(p.model.view())
	v.AltScreen = true
	return v
}

// Update implements tea.Model.
func (p *program) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var next tea.Cmd // what goes on by itself
	var effects []any
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		effects = p.model.update(size{msg.Width, msg.Height})
	case tea.KeyPressMsg:
		effects = p.model.update(key(msg.String()))
	case tea.PasteMsg:
		for _, r := range msg.Content {
			if p.model.filtering { // else it could answer a question
				effects = append(effects, p.model.update(key(string(r)))...)
			}
		}
	case statusMsg:
		effects = p.model.update(msg)
		next = p.poll(pollEvery)
	case batch[supervisor.Event]:
		effects = p.model.update(eventsMsg{msg.items, msg.first})
		next = p.events(msg.from)
	case batch[capture.Line]:
		ended := msg.from.ended()
		effects = p.model.update(linesMsg{msg.name, msg.items, msg.lost, ended, msg.err})
		if !ended {
			next = msg.from.next(p.ctx)
		}
	default:
		effects = p.model.update(msg)
	}
	cmds := []tea.Cmd{next}
	for _, e := range effects {
		cmds = append(cmds, p.carryOut(e))
	}
	return p, tea.Batch(cmds...)
}

// carryOut carries out one effect.
func (p *program) carryOut(effect any) tea.Cmd {
	switch e := effect.(type) {
	case quit:
		return tea.Quit
	case askStatus:
		select {
		case p.soon <- struct{}{}:
		default: // it is asked for already
		}
	case follow:
		p.unfollow()
		ctx, cancel := context.WithCancel(p.ctx)
		p.unfollow = cancel
		if e == "" {
			return nil
		}
		return newStream(ctx, string(e), keptLines, p.src.Logs(ctx, string(e), 200, true)).next(ctx)
	case askCrash:
		return func() tea.Msg {
			ctx, cancel := context.WithTimeout(p.ctx, askWithin)
			defer cancel()
			report, err := p.src.Crash(ctx, e.id)
			return crashMsg{e.host, report, err}
		}
	case act:
		do := map[string]func(context.Context, string) (*record.HostStatus, error){
			"start": p.src.Start, "stop": p.src.Stop, "restart": p.src.Restart, "reset": p.src.Reset,
		}[e.verb]
		return func() tea.Msg {
			_, err := do(p.ctx, e.host)
			return doneMsg{e, err}
		}
	}
	return nil
}

// poll asks for the status after a time, or soon if the model wants it.
func (p *program) poll(after time.Duration) tea.Cmd {
	return func() tea.Msg {
		timer := time.NewTimer(after)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-p.soon:
			if !pause(p.ctx, pollSoon) {
				return nil
			}
		case <-p.ctx.Done():
			return nil
		}
		ctx, cancel := context.WithTimeout(p.ctx, askWithin)
		defer cancel()
		return p.ask(ctx)
	}
}

// ask asks for the status, and for what goes with it. Without samples, which other versions
// may not have, the rest is shown.
func (p *program) ask(ctx context.Context) statusMsg {
	st, err := p.src.Status(ctx)
	if err != nil {
		p.role, p.sampled = "", 0 // the next one may be another supervisor
		return statusMsg{err: err, at: time.Now()}
	}
	if p.role == "" {
		if c, err := p.src.Caller(ctx); err == nil {
			p.role = c.Role
		}
	}
	history, err := p.src.Samples(ctx, samples.Query{Since: p.sampled, N: 1})
	if err == nil {
		p.sampled = history.Last
	}
	return statusMsg{st, history, p.role, nil, time.Now()}
}

// events goes on with a stream of events, or with another one when that has ended.
func (p *program) events(from *stream[supervisor.Event]) tea.Cmd {
	return func() tea.Msg {
		if from == nil || from.ended() {
			if from != nil && !pause(p.ctx, retryEvents) {
				return nil
			}
			from = newStream(p.ctx, "", keptEvents, p.src.Events(p.ctx, true))
		}
		return from.next(p.ctx)()
	}
}

// pause waits, and reports whether ctx has not ended meanwhile.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Once writes the table once, after half a second in which it measures, for outputs that
// are no terminal.
func Once(ctx context.Context, src Source, w io.Writer, screen show.Screen) error {
	m := newModel(screen)
	for i := range 2 {
		if i > 0 && !pause(ctx, pollSoon*2) {
			return ctx.Err()
		}
		if err := m.sample(ctx, src); err != nil {
			return err
		}
	}
	return m.write(w)
}

// Each writes the table at each interval until ctx ends.
func Each(ctx context.Context, src Source, w io.Writer, screen show.Screen, every time.Duration) error {
	m := newModel(screen)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if err := m.sample(ctx, src); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if _, err := fmt.Fprintln(w, m.screen.Now.Format(time.RFC3339)); err != nil {
			return err
		}
		if err := m.write(w); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// sample takes the present status.
func (m *model) sample(ctx context.Context, src Source) error {
	st, err := src.Status(ctx)
	if err == nil {
		history, _ := src.Samples(ctx, samples.Query{N: 1}) // nil of a version without them
		m.update(statusMsg{status: st, samples: history, at: time.Now()})
	}
	return err
}

// write writes the whole table.
func (m *model) write(w io.Writer) error {
	var rows []show.TopRow
	for _, r := range m.rows() {
		rows = append(rows, r.TopRow)
	}
	lines := append(m.headLines(), m.screen.Top(rows, "", false)...)
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n\n")
	return err
}
