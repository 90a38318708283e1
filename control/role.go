package control

import (
	"context"
	"fmt"
	"net/http"
)

// Role is what a caller may do. Each role includes those before it.
type Role string

// The roles.
const (
	RoleRead    Role = "read"    // see everything, change nothing
	RoleOperate Role = "operate" // also start, stop and restart what is configured
	RoleFull    Role = "full"    // also what reaches into hosts: calls, programs that attach, debuggers, memory
)

// Roles lists the roles, the least first.
func Roles() []Role { return []Role{RoleRead, RoleOperate, RoleFull} }

func (r Role) rank() int {
	for i, known := range Roles() {
		if r == known {
			return i + 1
		}
	}
	return 0
}

// includes reports whether a caller with role r may do what needs role least.
func (r Role) includes(least Role) bool { return r.rank() >= least.rank() && r.rank() > 0 }

// allow returns an error unless the caller of r may use op.
func (op *operation) allow(r *http.Request) error {
	c := callerOf(r.Context())
	if c.role.includes(op.role) {
		return nil
	}
	return &Error{Class: Forbidden, Message: fmt.Sprintf("%s needs the role %s, and token %q has the role %s", op.name, op.role, c.token, c.role)}
}

// Caller is who makes a request.
type Caller struct {
	Token *string `json:"token"` // name of its token; null over the control socket
	Role  Role    `json:"role"`
}

func (s *Server) caller(ctx context.Context, _ struct{}) (Caller, error) {
	c := callerOf(ctx)
	out := Caller{Role: c.role}
	if c.token != "" {
		out.Token = &c.token
	}
	return out, nil
}
