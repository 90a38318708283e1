//go:build linux

package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	bench "github.com/hostsup/hostsup/workbench"
	lang "github.com/hostsup/hostsup/workbench/language"
)

// The names of doors.
const (
	doorGo, doorVerb, doorLSP, doorMCP = "Go", "lang", "LSP", "MCP"
)

// absentFeatures are the features that a door does not have, with the reason.
var absentFeatures = map[string]map[lang.Feature]string{
	doorVerb: {
		lang.FeatureFormatRange: "the verb formats whole files", lang.FeatureFormatOnType: "it is about typing",
		lang.FeaturePrepareRename: "it is the first half of a rename", lang.FeatureRangeTokens: "the verb has the tokens of whole files",
		lang.FeaturePresentations: "it is about picking a color",
		lang.FeatureCallHierarchy: "it is the first half of incoming-calls", lang.FeatureTypeHierarchy: "it is the first half of supertypes",
	},
	doorMCP: {
		lang.FeatureFormatRange: "agents format whole files", lang.FeatureFormatOnType: "it is about typing",
		lang.FeaturePrepareRename: "it is the first half of a rename", lang.FeatureRangeTokens: "agents have the tokens of whole files",
		lang.FeaturePresentations: "it is about picking a color",
		lang.FeatureCallHierarchy: "it is the first half of incoming-calls", lang.FeatureTypeHierarchy: "it is the first half of supertypes",
		lang.FeatureFolding:    "it is how an editor shows lines; agents have symbols",
		lang.FeatureSelections: "it is about a user who selects more and more of a text",
		lang.FeatureInline:     "it is about a user who types; agents have completion",
		lang.FeatureLinked:     "it is about a user who types; agents have rename and highlights",
	},
}

var positionOf = regexp.MustCompile(`^(.+?)(?::(\d+):(\d+))?$`)

// place returns the file and the position of a step.
func (sc *scenarioRun) place(s scenarioStep) (file string, line, column int) {
	m := positionOf.FindStringSubmatch(s.At)
	if m == nil {
		return sc.work, 1, 1
	}
	line, column = 1, 1
	if m[2] != "" {
		line, _ = strconv.Atoi(m[2]) // they are digits
		column, _ = strconv.Atoi(m[3])
	}
	return filepath.Join(sc.work, m[1]), line, column
}

// goDoor is the API of package supervisor and of package workbench/language.
type goDoor struct {
	sc *scenarioRun
}

func (d *goDoor) name() string { return doorGo }

func (d *goDoor) ask(s scenarioStep) (string, error) {
	t := d.sc.t
	if s.Command != "" {
		var out json.RawMessage
		err := d.sc.code.Call(ctx(t), s.Command, s.Arguments, &out)
		return string(out), err
	}
	file, line, column := d.sc.place(s)
	q := lang.Query{Feature: s.Feature, URI: bench.File(file), Position: lang.Position{Line: line - 1, Character: column - 1}, Text: s.Text, Kind: s.Kind}
	switch s.Feature {
	case lang.FeatureLinks, lang.FeatureLenses:
		q.Resolve = 100
	case lang.FeatureWorkspaceSymbol:
		q.Text = s.At
	case lang.FeatureSelections:
		q.Positions = []lang.Position{q.Position}
	}
	raw, err := json.Marshal(q)
	if err != nil {
		return "", err
	}
	if raw, err = d.sc.sup.AskLanguage(ctx(t), "code", raw); err != nil {
		return "", err
	}
	lines, err := lang.Lines(s.Feature, file, raw)
	return strings.Join(lines, "\n"), err
}

// verbDoor is the program, as a user runs it.
type verbDoor struct {
	sc     *scenarioRun
	socket string
}

func (d *verbDoor) name() string { return doorVerb }

func (d *verbDoor) ask(s scenarioStep) (string, error) {
	t := d.sc.t
	args := []string{"--socket", d.socket}
	if s.Command != "" {
		raw, err := json.Marshal(s.Arguments)
		if err != nil {
			return "", err
		}
		args = append(args, "call", "code", s.Command, string(raw), "--timeout", "5m")
	} else {
		at := s.At
		if s.Feature != lang.FeatureWorkspaceSymbol {
			file, line, column := d.sc.place(s)
			at = fmt.Sprintf("%s:%d:%d", file, line, column)
		}
		args = append(args, "lang", "--host", "code", "--kind", s.Kind, "--", string(s.Feature), at)
		if s.Feature == lang.FeatureRename {
			args = append(args, s.Text)
		}
	}
	cmd := exec.CommandContext(ctx(t), hostsupBinary(t), args...)
	var told bytes.Buffer
	cmd.Stderr = &told
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, told.String())
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// mcpDoor is an agent with the official SDK.
type mcpDoor struct {
	sc *scenarioRun
	c  *mcpClient
}

func newMCPDoor(sc *scenarioRun, socket string) *mcpDoor {
	t := sc.t
	t.Helper()
	transport := &sdk.CommandTransport{Command: exec.Command(hostsupBinary(t), "--socket", socket, "attach", "code")}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil).Connect(ctx(t), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return &mcpDoor{sc, &mcpClient{ClientSession: session}}
}

func (d *mcpDoor) name() string { return doorMCP }

var notInNames = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

func (d *mcpDoor) ask(s scenarioStep) (string, error) {
	var tool string
	in := map[string]any{}
	if s.Command != "" {
		tool, in["arguments"] = "command_"+notInNames.ReplaceAllString(s.Command, "_"), s.Arguments
	} else {
		tool = "language_" + strings.ReplaceAll(string(s.Feature), "-", "_")
		file, line, column := d.sc.place(s)
		switch s.Feature {
		case lang.FeatureWorkspaceSymbol:
			in["query"] = s.At
		case lang.FeatureSymbols, lang.FeatureDiagnostics, lang.FeatureFormat, lang.FeatureLenses, lang.FeatureTokens, lang.FeatureLinks, lang.FeatureColors, lang.FeatureHints:
			in["file"] = file
		case lang.FeatureActions:
			if in["file"] = file; s.Kind != "" {
				in["kind"] = s.Kind
			}
		case lang.FeatureRename:
			in["newName"] = s.Text
			fallthrough
		default:
			in["file"], in["line"], in["column"] = file, line, column
		}
		if s.Feature != lang.FeatureFormat && s.Feature != lang.FeatureRename && s.Feature != lang.FeatureHover {
			in["limit"] = 10000
		}
	}
	out, err := d.c.CallTool(ctx(d.sc.t), &sdk.CallToolParams{Name: tool, Arguments: in})
	if err != nil {
		return "", err
	}
	var texts []string
	for _, part := range out.Content {
		text, ok := part.(*sdk.TextContent)
		if !ok {
			return "", fmt.Errorf("a part %T", part)
		}
		texts = append(texts, text.Text)
	}
	text := strings.Join(texts, "\n")
	if out.IsError {
		return "", errors.New(text)
	}
	switch s.Feature { // of which hostsup lang prints JSON
	case lang.FeatureHighlights, lang.FeatureSignature, lang.FeatureLenses, lang.FeatureHints, lang.FeatureLinks, lang.FeatureColors:
		return asVerb(out.StructuredContent)
	}
	return text, nil
}
