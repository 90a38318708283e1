package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/hostsup/hostsup/intercept/secret/stores"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/supervisor"
)

// File is the content of a configuration file.
type File struct {
	// Spec is what to supervise. Its Config is the absolute path of the file; the program
	// must set its StateDir and Socket, from [StateDir] and [SocketPaths].
	Spec supervisor.Spec
	// Socket and StateDir are the absolute paths that the supervisor block names; "" if it
	// names none.
	Socket   string
	StateDir string
	Log      Log
	Console  Console
	Crashes  CrashReports
	Traces   *Traces    // nil: none are sent
	Serves   []Serve    // what hosts are served over HTTP
	Installs []Installs // hosts with folders that extensions can be installed into

	traces      *Traces           // that of the block, if there is one
	execServers []*execServerDecl // and the sources to show diagnostics with
	units       []unit
}

// CrashReports says which crash reports are kept.
type CrashReports struct {
	MaxAge     time.Duration // default 30 days; 0: however old they are
	MaxSize    int64         // bytes of all reports; default 256 MiB
	MaxReports int           // default 10,000
}

// Log configures the supervisor's own log.
type Log struct {
	Level  Level  // default info
	Format Format // default text; in the journal both are fields
	To     LogTo  // default auto

	// File is the absolute path of a file for it; "": it goes elsewhere. The other fields
	// are as those of [hostspec.LogRule].
	File        string
	MaxSize     int64
	Files       int
	RotateEvery time.Duration
	MaxAge      time.Duration
	Compress    bool
}

// LogTo is where the supervisor's own log goes if no file is named for it.
type LogTo string

// The places. LogToAuto is the journal of the system if standard error leads there, else
// standard error.
const (
	LogToAuto    LogTo = "auto"
	LogToStderr  LogTo = "stderr"
	LogToJournal LogTo = "journal"
)

// Level is the least severity that is logged. The words are those of hclog.
type Level string

// The levels.
const (
	LevelTrace Level = "trace"
	LevelDebug Level = "debug"
	LevelInfo  Level = "info"
	LevelWarn  Level = "warn"
	LevelError Level = "error"
	LevelOff   Level = "off"
)

// Format is the form of a line of the log.
type Format string

// The formats.
const (
	FormatText Format = "text"
	FormatJSON Format = "json"
)

// Options configures the reading of a file. The zero value reads it as the binary does.
type Options struct {
	// Vars are values of variables by name, as text; see [ParseVars]. They override the
	// environment and defaults.
	Vars map[string]string
	// LookupEnv looks up env("NAME") and HOSTSUP_VAR_name; nil means os.LookupEnv.
	LookupEnv func(name string) (string, bool)
	// Self is the value of `self`; "" means the path of the running program.
	Self string
	// Dir is the folder that relative paths start from; "" means the folder of the file.
	Dir string
	// Stat finds out whether folders and programs exist, which only causes warnings. Nil
	// means os.Stat in [Load] and no check in [Parse].
	Stat func(path string) (fs.FileInfo, error)
	// LookPath finds out whether programs exist and can run, which only causes warnings;
	// see sandbox.LookPath. Nil means sandbox.LookPath in [Load] and no check in [Parse].
	LookPath func(file, dir, path string) (string, error)
	// Enforce reports whether a policy and limits can be enforced on this machine, and
	// resolves the policy, as resolve.Policy does. Its errors are those of package policy.
	// Limits that are weaker than requested, but accepted by the policy, cause warnings. Nil
	// means no check.
	Enforce func(*policy.Policy, policy.Limits) (r *policy.Resolved, weaker []*policy.Error, err error)
	// Elsewhere means that the file is for another machine: Stat, LookPath and Enforce are
	// not called, and no env_file is read.
	Elsewhere bool
	// OnFile is called with the absolute path or pattern of each file besides the main one
	// that the content comes from, or would if it existed; also if the file is not valid.
	// May be nil.
	OnFile func(pattern string)
	// HostsOnly refuses what is not a host or a group of hosts, for a file whose hosts are
	// added to those of a running supervisor.
	HostsOnly bool
	// Regular refuses a file that is not a regular one: reading a pipe may take for ever.
	Regular bool
	// Lenient turns errors of Enforce into warnings: the file is valid, but those hosts
	// cannot start.
	Lenient bool
}

// Load reads the file at path. If the diagnostics contain errors, the File is nil;
// warnings come with a File. Diagnostics are sorted by file and position; [Print] shows them.
func Load(path string, opts Options) (*File, hcl.Diagnostics) {
	read := readFile
	if opts.Regular {
		read = readRegular
	}
	src, why := read(path)
	if why == noSuchFile {
		why += nameOne
	}
	if why != "" {
		return nil, hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "cannot read " + path, Detail: why}}
	}
	if opts.Elsewhere {
		opts.Stat, opts.LookPath, opts.Enforce = nil, nil, nil
		return Parse(src, path, opts)
	}
	if opts.LookPath == nil {
		opts.LookPath = sandbox.LookPath
	}
	if opts.Stat == nil {
		opts.Stat = os.Stat
	}
	return Parse(src, path, opts)
}

var tooLarge = fmt.Sprintf("The file is larger than %s, which no configuration needs to be.", showSize(maxFile))

const (
	noSuchFile = "There is no such file."
	nameOne    = " Name one with -c FILE or in HOSTSUP_CONFIG."
)

// readFile returns the content of a file, or a sentence why it cannot be read.
func readFile(path string) (src []byte, why string) {
	f, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, noSuchFile
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Sprintf("This user (uid %d) may not read it.", os.Geteuid())
	case err != nil:
		return nil, sentence(err)
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return nil, fmt.Sprintf("It is a folder. Name the file in it, such as %s.", filepath.Join(path, defaultFileName))
	}
	src, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, sentence(err)
	case len(src) > maxFile:
		return nil, tooLarge
	}
	return src, ""
}

// sentence returns the system's reason, without the path that is shown already.
func sentence(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return upperFirst(err.Error()) + "."
}

// Parse reads src as the content of the file called filename, and the files that it
// includes. See [Load].
func Parse(src []byte, filename string, opts Options) (*File, hcl.Diagnostics) {
	f, units, diags := parse(src, filename, opts)
	diags = finish(diags, units)
	if diags.HasErrors() {
		return nil, diags
	}
	if len(f.execServers) > 0 {
		f.units = units
	}
	return f, diags
}

// offset returns the position of a diagnostic; those without a position come first.
func offset(d *hcl.Diagnostic) int {
	if d.Subject == nil {
		return -1
	}
	return d.Subject.Start.Byte
}

var rootSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "include"}}, Blocks: []hcl.BlockHeaderSchema{
	{Type: "supervisor"},
	{Type: "secrets"},
	{Type: "group", LabelNames: []string{"name"}},
	hostHeader,
	templateHeader,
	{Type: "variable", LabelNames: []string{"name"}},
	{Type: "locals"},
}}

// parseBody parses src as HCL, whatever its content.
func parseBody(src []byte, filename string) (*hclsyntax.Body, hcl.Diagnostics) {
	if len(src) > maxFile {
		return nil, hcl.Diagnostics{{Severity: hcl.DiagError, Summary: filename + " is too large", Detail: tooLarge}}
	}
	unclosed, diags := scan(src, filename)
	if diags.HasErrors() {
		return nil, diags
	}
	parsed, diags := hclsyntax.ParseConfig(src, filename, hcl.InitialPos)
	if diags.HasErrors() {
		// Errors that follow from half a file would be noise.
		return nil, syntax(diags, unclosed)
	}
	return parsed.Body.(*hclsyntax.Body), nil
}

// complete fills in defaults for the file called filename, and returns its absolute
// path.
func (opts Options) complete(filename string) (string, Options) {
	path, err := filepath.Abs(filename)
	if err != nil { // no working folder
		path = filename
	}
	if opts.Dir == "" {
		opts.Dir = filepath.Dir(path)
	}
	if opts.LookupEnv == nil {
		opts.LookupEnv = os.LookupEnv
	}
	if opts.Self == "" {
		if opts.Self, err = os.Executable(); err != nil {
			opts.Self = os.Args[0]
		}
	}
	return path, opts
}

func newReader(opts Options) *reader {
	r := &reader{
		scope: newScope(opts.Self, opts.LookupEnv), dir: opts.Dir, stat: opts.Stat, lookPath: opts.LookPath,
		enforce: opts.Enforce, lenient: opts.Lenient, onFile: opts.OnFile, elsewhere: opts.Elsewhere,
	}
	r.programs, _ = opts.LookupEnv("PATH")
	return r
}

func parse(src []byte, filename string, opts Options) (*File, []unit, hcl.Diagnostics) {
	body, diags := parseBody(src, filename)
	units := []unit{{filename, src, body}}
	if diags.HasErrors() {
		return nil, units, diags
	}
	path, opts := opts.complete(filename)
	r := newReader(opts)
	r.folders = map[string]string{filename: opts.Dir}
	f := defaultFile()
	f.Spec.Config = path
	if attr := body.Attributes["include"]; attr != nil {
		if units = append(units, r.included(attr.AsHCLAttribute(), filename, path)...); r.diags.HasErrors() {
			return nil, units, r.diags // errors that follow from half of the files would be noise
		}
	}
	var blocks, execs, serves hcl.Blocks
	for i, u := range units {
		if i > 0 {
			u.body = r.onlyMain(u, filename)
		}
		rest, servers := r.execServers(u.body)
		rest, served := r.serves(rest)
		blocks, execs, serves = append(blocks, r.content(rest, rootSchema).Blocks...), append(execs, servers...), append(serves, served...)
	}
	kinds := blocks.ByType()
	if opts.HostsOnly {
		for _, b := range slices.Concat(kinds["supervisor"], kinds["secrets"], execs, serves) {
			r.fail(b.DefRange, fmt.Sprintf("block %q in a file of hosts", b.Type), "Only hosts and groups of hosts can be added to a supervisor that runs. Remove it.")
		}
	}
	r.variables(kinds["variable"], opts.Vars, opts.LookupEnv)
	r.localValues(kinds["locals"])
	where := stores.Options{}.WithDefaults()
	for _, s := range []section{supervisorSection(f), secretsSection(&where, &f.Spec.SecretCache)} {
		for i, b := range kinds[s.name] {
			if i > 0 {
				r.twice(b, kinds[s.name][0].DefRange)
				continue
			}
			p := r.section(b.Body, b.DefRange, s)
			if s.name == "supervisor" {
				r.console(&f.Console, b, p)
				r.ownLog(&f.Log, p)
				if _, ok := p.at["traces"]; ok {
					f.Traces = f.traces
				}
			}
		}
	}
	f.Spec.Secrets = where
	t := r.tree(blocks)
	for _, b := range execs {
		r.enter(b)
		d := r.execServer(t, b)
		f.execServers = append(f.execServers, d)
		f.Spec.Parts = append(f.Spec.Parts, d.spec)
	}
	for _, b := range serves {
		r.enter(b)
		f.Serves = append(f.Serves, r.serve(t, f.Serves, b))
	}
	if len(t.hosts) == 0 && len(execs) == 0 && !r.diags.HasErrors() {
		r.fail(hcl.Range{Filename: filename, Start: hcl.InitialPos, End: hcl.InitialPos}, "no host is configured",
			"A supervisor needs at least one host (or an exec_server): host \"NAME\" { command = [\"PROGRAM\"] }.")
	}
	for _, g := range t.groups {
		for _, d := range g.hosts {
			g.spec.Hosts = append(g.spec.Hosts, d.spec)
			if in, ok := installs(d); ok {
				f.Installs = append(f.Installs, in)
			}
		}
		if len(g.spec.Hosts) > 0 {
			f.Spec.Groups = append(f.Spec.Groups, g.spec)
		}
	}
	return f, units, r.diags
}
