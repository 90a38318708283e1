package control

import (
	"context"
	"net/url"

	"github.com/hostsup/hostsup/control/evidence"
)

// crashIndexInput is the input of a request for the index of crash reports.
type crashIndexInput struct {
	Host string `query:"host" doc:"name of the only host"`
}

// CrashIndex tells of crash reports without their content.
type CrashIndex struct {
	Crashes []evidence.Summary `json:"crashes"` // newest last
	Groups  []evidence.Group   `json:"groups"`  // crashes that are alike; that with the newest crash last
}

func (s *Server) crashIndex(_ context.Context, in crashIndexInput) (out CrashIndex, err error) {
	if in.Host != "" {
		if _, err := s.host(in.Host, false); err != nil {
			return out, err
		}
	}
	if s.opt.Evidence != nil {
		out.Crashes, err = s.opt.Evidence.Summaries(in.Host)
	} else {
		kept, failed := s.sup.Crashes(in.Host)
		out.Crashes, err = evidence.Summarize(kept), failed
	}
	if err != nil {
		return out, err
	}
	out.Crashes = list(out.Crashes)
	out.Groups = evidence.Groups(out.Crashes)
	return out, nil
}

// CrashIndex returns the index of the crash reports of a host, or of all hosts if host is "".
func (c *Client) CrashIndex(ctx context.Context, host string) (*CrashIndex, error) {
	query := url.Values{}
	if host != "" {
		query.Set("host", host)
	}
	return get[CrashIndex](ctx, c, prefix+"/crash-index", query)
}
