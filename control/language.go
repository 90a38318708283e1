package control

import (
	"context"
	"encoding/json"
)

// languageInput is the input of a question about a document.
type languageInput struct {
	Body languageRequest
}

// languageRequest is the body of a question about a document.
type languageRequest struct {
	Host  string         `json:"host,omitempty"` // "": the first one whose extensions provide the feature
	Query map[string]any `json:"query"`          // see [supervisor.Supervisor.AskLanguage]
}

// languageAnswer is the response to it.
type languageAnswer struct {
	Result json.RawMessage `json:"result"`
}

func (s *Server) language(ctx context.Context, in languageInput) (out languageAnswer, err error) {
	if feature, _ := in.Body.Query["feature"].(string); feature == "" {
		return out, invalid("the query about a document has no feature")
	}
	query, err := json.Marshal(in.Body.Query)
	if err != nil {
		return out, invalid(err.Error())
	}
	if out.Result, err = s.sup.AskLanguage(ctx, in.Body.Host, query); err != nil {
		return out, s.extensionFail(in.Body.Host, err)
	}
	return out, nil
}

// AskLanguage asks the extensions of VS Code about a document, with a query and a result
// as of [supervisor.Supervisor.AskLanguage]. query is encoded as JSON.
func (c *Client) AskLanguage(ctx context.Context, host string, query any) (json.RawMessage, error) {
	raw, err := json.Marshal(query)
	if err != nil {
		return nil, err
	}
	body := languageRequest{Host: host}
	if err := json.Unmarshal(raw, &body.Query); err != nil {
		return nil, err
	}
	out, err := post[languageAnswer](ctx, c, prefix+"/language", body)
	if err != nil {
		return nil, err
	}
	return out.Result, nil
}
