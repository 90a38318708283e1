package wire

// RedirectPolicy is what to do with a redirect.
type RedirectPolicy string

// The policies.
const (
	RedirectFollow RedirectPolicy = "follow"
	RedirectStop   RedirectPolicy = "stop"
)

func (RedirectPolicy) variants() []string { return []string{"follow", "stop"} }

// HTTPRequestParams are an HTTP request to be made by the server.
type HTTPRequestParams struct {
	Method         string         `json:"method" wire:"required"`
	URL            string         `json:"url" wire:"required"`
	Headers        []HTTPHeader   `json:"headers,omitempty"`
	Body           *[]byte        `json:"bodyBase64,omitempty"`
	TimeoutMs      *uint64        `json:"timeoutMs,omitempty"`      // nil: none
	RedirectPolicy RedirectPolicy `json:"redirectPolicy,omitempty"` // "": follow
	RequestID      string         `json:"requestId" wire:"required"`
	StreamResponse bool           `json:"streamResponse,omitempty"` // the body comes in http/request/bodyDelta
}

// HTTPHeader is one header. The names in an answer are in lower case.
type HTTPHeader struct {
	Name        string  `json:"name" wire:"required"`
	Value       string  `json:"value" wire:"required"`
	ValueEnvVar *string `json:"valueEnvVar,omitempty"` // the server's environment has the value
}

// HTTPResponse answers http/request. A status of 400 and more is no error.
type HTTPResponse struct {
	Status  uint16       `json:"status"`
	Headers []HTTPHeader `json:"headers"`
	Body    []byte       `json:"bodyBase64"` // empty when streamed
}

// HTTPBodyDelta is the params of http/request/bodyDelta.
type HTTPBodyDelta struct {
	RequestID string  `json:"requestId"`
	Seq       uint64  `json:"seq"` // from 1
	Delta     []byte  `json:"deltaBase64"`
	Done      bool    `json:"done"` // the last, which is empty
	Error     *string `json:"error"`
}
