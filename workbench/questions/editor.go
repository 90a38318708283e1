package questions

import "context"

// Prompt is a question of this editor itself, on behalf of an extension: for a text, or for one of some
// items.
type Prompt struct {
	Host     string
	For      string // what it is asked for, such as `the input "name" of a task`, for the log
	Text     string
	Items    []string // nil: every text is an answer
	Password bool
}

// Ask asks as extensions do: a rule or a client answers. It reports false if the question is dismissed.
func (s *Service) Ask(ctx context.Context, p Prompt) (answer string, ok bool) {
	a := asked{Title: p.Text, Password: p.Password}
	q := a.question(p.Host, "", Input, "the input box")
	if p.Items != nil {
		q = a.question(p.Host, "", List, "the list")
		q.items = func() []string { return p.Items }
	}
	q.what = p.For
	q.check = func(_ context.Context, values []string) (any, error) {
		if p.Items != nil {
			if _, err := chosen(p.Items, values[0]); err != nil {
				return nil, err
			}
		}
		return values[0], nil
	}
	out := s.resolve(ctx, q)
	answer, _ = out.result.(string)
	return answer, out.answered
}
