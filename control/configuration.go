package control

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"

	"github.com/hostsup/hostsup/supervisor"
)

// Configuration is the file of a supervisor. The program around the supervisor implements
// it, as that has read the file. Its methods are called concurrently. A file that is not
// valid is an *[Error] of class [InvalidConfig], and changes nothing.
type Configuration interface {
	// Plan compares the tree with the file at path, whose variables are set to vars, or with
	// its own file if path is "".
	Plan(ctx context.Context, path string, vars map[string]string) (*Applied, error)
	// Reload makes the tree what its file says now.
	Reload(ctx context.Context) (*Applied, error)
	// Add adds the hosts of the file at path beside those of the configuration.
	Add(ctx context.Context, path string, vars map[string]string) (*Applied, error)
	// Remove stops a host and takes it out, until the next Reload if it is of the file.
	Remove(ctx context.Context, host string) (*Applied, error)
	// Status returns what the status of the supervisor shows of it.
	Status() *supervisor.ConfigStatus
}

// Applied is what was done with a configuration, or is to be.
type Applied struct {
	Config string          `json:"config"` // path of the file
	Plan   supervisor.Plan `json:"plan"`
	// Added are the hosts that were added without the file, and that it leaves alone.
	Added []string `json:"added"`
	// Errors are those of hosts that could not be changed. The others were.
	Errors []string `json:"errors"`
}

// planInput is the input of a request for a plan.
type planInput struct {
	Body fileRequest
}

// fileRequest names a file.
type fileRequest struct {
	Path string            `json:"path,omitempty"` // absolute, on the machine of the supervisor; "" is its own file
	Vars map[string]string `json:"vars,omitempty"` // values of its variables
}

// configuration returns the Configuration of the server.
func (s *Server) configuration() (Configuration, error) {
	if s.opt.Configuration == nil {
		return nil, &Error{Class: Unknown, Message: "this supervisor was started without a file that it could load again"}
	}
	return s.opt.Configuration, nil
}

func (s *Server) plan(ctx context.Context, in planInput) (*Applied, error) {
	c, err := s.configuration()
	if err != nil {
		return nil, err
	}
	if in.Body.Path != "" && !callerOf(ctx).role.includes(RoleFull) {
		return nil, &Error{Class: Forbidden, Message: "a plan for another file than the supervisor's own needs the role " + string(RoleFull)}
	}
	if err := checkFile(ctx, in.Body.Path); err != nil {
		return nil, err
	}
	return tidyApplied(c.Plan(ctx, in.Body.Path, in.Body.Vars))
}

// checkFile refuses a file that a caller on a network names if it is not called a
// configuration: diagnostics show lines of it, whoever may read them otherwise.
func checkFile(ctx context.Context, path string) error {
	if callerOf(ctx).token != "" && path != "" && filepath.Ext(path) != ".hcl" {
		return invalid(fmt.Sprintf("%q is not the name of a configuration: over a network it has to end in .hcl", cut(path)))
	}
	return nil
}

func (s *Server) reload(ctx context.Context, _ struct{}) (*Applied, error) {
	c, err := s.configuration()
	if err != nil {
		return nil, err
	}
	return tidyApplied(c.Reload(ctx))
}

func (s *Server) addHosts(ctx context.Context, in planInput) (*Applied, error) {
	c, err := s.configuration()
	if err != nil {
		return nil, err
	}
	if in.Body.Path == "" {
		return nil, invalid("no file is named")
	}
	if err := checkFile(ctx, in.Body.Path); err != nil {
		return nil, err
	}
	return tidyApplied(c.Add(ctx, in.Body.Path, in.Body.Vars))
}

func (s *Server) removeHost(ctx context.Context, in hostInput) (*Applied, error) {
	c, err := s.configuration()
	if err != nil {
		return nil, err
	}
	return tidyApplied(c.Remove(ctx, in.Host.Status().Name))
}

// tidyApplied makes empty lists non-nil, see tidy.
func tidyApplied(a *Applied, err error) (*Applied, error) {
	if err != nil || a == nil {
		return nil, err
	}
	out := *a
	out.Added, out.Errors = list(a.Added), list(a.Errors)
	p := &out.Plan
	p.Hosts, p.Groups, p.Settings, p.NeedsStart = list(p.Hosts), list(p.Groups), list(p.Settings), list(p.NeedsStart)
	return &out, nil
}

// Plan returns what differs between the supervisor and a file, or its own one if path is
// "". path must be absolute.
func (c *Client) Plan(ctx context.Context, path string, vars map[string]string) (*Applied, error) {
	return post[Applied](ctx, c, prefix+"/plan", fileRequest{path, vars})
}

// Reload has the supervisor load its file, and returns what it has changed.
func (c *Client) Reload(ctx context.Context) (*Applied, error) {
	return post[Applied](ctx, c, prefix+"/reload", nil)
}

// Add adds the hosts of a file, whose path must be absolute.
func (c *Client) Add(ctx context.Context, path string, vars map[string]string) (*Applied, error) {
	return post[Applied](ctx, c, prefix+"/hosts", fileRequest{path, vars})
}

// Remove takes a host out.
func (c *Client) Remove(ctx context.Context, host string) (*Applied, error) {
	return document[Applied](ctx, c, http.MethodDelete, prefix+"/hosts/"+url.PathEscape(host), nil)
}
