package control

import (
	"context"
	"errors"
	"net/url"
	"strconv"

	"github.com/hostsup/hostsup/control/samples"
)

// samplesInput is the input of a request for samples.
type samplesInput struct {
	Names []string `query:"host" doc:"only these hosts; may be repeated"`
	Since uint64   `query:"since" doc:"only samples after this number"`
	N     int      `query:"n" max:"720" doc:"at most so many samples of each host, the newest; 0 is all"`
}

func (s *Server) samples(_ context.Context, in samplesInput) (out samples.History, err error) {
	if s.opt.Samples == nil {
		return out, &Error{Class: Unknown, Message: "this supervisor keeps no samples"}
	}
	for _, name := range in.Names {
		if _, err := s.host(name, false); err != nil {
			return out, err
		}
	}
	out, err = s.opt.Samples.History(samples.Query{Hosts: in.Names, Since: in.Since, N: in.N})
	if errors.Is(err, samples.ErrTooMany) {
		return out, invalid(err.Error())
	}
	return out, err
}

// Samples returns figures of hosts over the last hour.
func (c *Client) Samples(ctx context.Context, q samples.Query) (*samples.History, error) {
	query := url.Values{"host": q.Hosts, "since": {strconv.FormatUint(q.Since, 10)}, "n": {strconv.Itoa(q.N)}}
	return get[samples.History](ctx, c, prefix+"/samples", query)
}
