package diagnostics

import (
	"encoding/json"

	"github.com/hostsup/hostsup/workbench"
)

// marker is a problem as hosts have it (IMarkerData).
type marker struct {
	Severity    Severity `json:"severity"`
	Message     string   `json:"message"`
	Source      string   `json:"source,omitempty"`
	Code        string   `json:"code,omitempty"`
	StartLine   int      `json:"startLineNumber"`
	StartColumn int      `json:"startColumn"`
	EndLine     int      `json:"endLineNumber"`
	EndColumn   int      `json:"endColumn"`
}

// Report replaces what the editor itself reports in a file, for an owner such as that of a problem matcher. An
// owner of the editor and a collection of an extension with the same name are different ones. The error is
// one for a caller that has reported more than a host may.
func (s *Service) Report(owned string, uri workbench.URI, problems []Diagnostic) error {
	e := entry{uri: uri}
	for _, d := range problems {
		raw, err := json.Marshal(marker{d.Severity, d.Message, d.Source, d.Code, d.StartLine, d.StartColumn, d.EndLine, d.EndColumn})
		if err != nil {
			return err
		}
		d.Host, d.Owner = "", owned
		e.raw, e.all = append(e.raw, raw), append(e.all, d)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.put(owner{name: owned}, map[string]entry{uri.String(): e})
}

// Withdraw takes away all that the editor itself reports for an owner.
func (s *Service) Withdraw(owned string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(owner{name: owned})
}
