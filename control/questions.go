package control

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/workbench/questions"
)

// questionsInput is the input of a request for open questions.
type questionsInput struct {
	Host string `query:"host" doc:"name of the only host"`
}

// questionList is the response to it.
type questionList struct {
	Questions []questions.Question `json:"questions"`
}

// answerInput is the input of an answer to a question.
type answerInput struct {
	ID   string `path:"id" doc:"id of a question"`
	Body answerRequest
}

// answerRequest is the body of an answer.
type answerRequest struct {
	Values  []string `json:"values,omitempty"`  // the label of an item, a text or an absolute path; several where many is set
	Dismiss bool     `json:"dismiss,omitempty"` // dismiss the question instead
}

// servicesOf returns the services of a workbench of all hosts of VS Code, or of one; of is how a host
// has one. Hosts of isolated extensions share a service.
func servicesOf[S comparable](t tree, host string, of func(*actors.Ref) (S, error)) (list []S, err error) {
	seen := map[S]bool{}
	for _, h := range t.Hosts() {
		if host != "" && h.Name() != host {
			continue
		}
		svc, err := of(h.Ref())
		switch {
		case err != nil && host != "":
			return nil, err
		case err == nil && !seen[svc]:
			seen[svc] = true
			list = append(list, svc)
		}
	}
	if host != "" && list == nil {
		_, err := t.Supervisor.Host(host)
		return nil, err
	}
	return list, nil
}

func (t tree) Questions(host string) (out []questions.Question, err error) {
	list, err := servicesOf(t, host, questions.Of)
	for _, svc := range list {
		out = append(out, svc.Questions(host)...)
	}
	return out, err
}

func (t tree) AnswerQuestion(ctx context.Context, id string, values []string, dismiss bool) error {
	list, err := servicesOf(t, "", questions.Of)
	if err != nil {
		return err
	}
	for _, svc := range list {
		if dismiss {
			err = svc.Dismiss(id)
		} else {
			err = svc.Answer(ctx, id, values...)
		}
		if !errors.Is(err, questions.ErrNoQuestion) {
			return err
		}
	}
	if err == nil {
		err = questions.ErrNoQuestion
	}
	return err
}

func (s *Server) questions(_ context.Context, in questionsInput) (out questionList, err error) {
	all, err := s.sup.Questions(in.Host)
	if errors.Is(err, extensions.ErrNoExtensions) {
		return out, &Error{Class: NoExtensions, Host: in.Host, Message: fmt.Sprintf("host %q has no questions: only extensions of hosts with protocol \"vscode\" ask", in.Host)}
	}
	if err != nil {
		return out, s.extensionFail(in.Host, err)
	}
	return questionList{list(all)}, nil
}

func (s *Server) answer(ctx context.Context, in answerInput) (out struct{}, err error) {
	if in.Body.Dismiss == (len(in.Body.Values) > 0) {
		return out, invalid("values or dismiss expected, and not both")
	}
	return out, s.sup.AnswerQuestion(ctx, in.ID, in.Body.Values, in.Body.Dismiss)
}

// Questions returns the open questions of the extensions of a host, of all hosts if host is "".
func (c *Client) Questions(ctx context.Context, host string) ([]questions.Question, error) {
	out, err := get[questionList](ctx, c, prefix+"/questions", hostQuery(host))
	if err != nil {
		return nil, err
	}
	return out.Questions, nil
}

// AnswerQuestion answers an open question: with the label of an item, a text, or an absolute path;
// with several values where the question has Many. The error has the class [NoSuchQuestion] if
// the question is not open, and [Invalid] if the answer does not fit and the question stays open.
func (c *Client) AnswerQuestion(ctx context.Context, id string, values ...string) error {
	return c.answerQuestion(ctx, id, answerRequest{Values: values})
}

// DismissQuestion dismisses an open question, as a user does with the key Escape.
func (c *Client) DismissQuestion(ctx context.Context, id string) error {
	return c.answerQuestion(ctx, id, answerRequest{Dismiss: true})
}

func (c *Client) answerQuestion(ctx context.Context, id string, body answerRequest) error {
	_, err := post[struct{}](ctx, c, prefix+"/questions/"+url.PathEscape(id), body)
	return err
}
