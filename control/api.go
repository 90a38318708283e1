package control

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"

	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/intercept/feed"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// prefix starts every path of the API.
const prefix = "/v1"

// operations returns the API. HOST and ID are escaped path segments. After a change of
// the table or of a type in it, go test ./control -update writes openapi.json anew.
func operations() []operation {
	return []operation{
		{http.MethodGet, "/openapi.json", "openapi", RoleRead, "This document.",
			raw(func(_ *Server, w http.ResponseWriter, _ *http.Request, _ struct{}) error {
				w.Header().Set("Content-Type", typeJSON)
				_, _ = w.Write(openAPI) // the caller may be gone
				return nil
			}, contentOf[map[string]any](typeJSON))},
		{http.MethodGet, "/status", "status", RoleRead, "The supervisor, its groups, hosts and exec servers.", reply((*Server).status)},
		{http.MethodGet, "/events", "events", RoleRead, "The history of state changes, and later ones as they happen.",
			lines[eventsInput, supervisor.Event]((*Server).events, reflect.TypeFor[lostLine]())},
		{http.MethodGet, "/logs", "allLogs", RoleRead, "The last lines of the output of all hosts or of some, by time, and later ones as they come.",
			lines[allLogsInput, HostLine]((*Server).allLogs)},
		{http.MethodGet, "/console", "console", RoleFull, "Where the supervisor can be used over a network.", reply((*Server).console)},
		{http.MethodGet, "/caller", "caller", RoleRead, "What the caller may do.", reply((*Server).caller)},
		{http.MethodGet, "/samples", "samples", RoleRead, "Figures of hosts over the last hour.", reply((*Server).samples)},
		{http.MethodGet, "/crashes", "crashes", RoleRead, "The crash reports that are kept, newest last.", reply((*Server).crashes)},
		{http.MethodGet, "/crash-index", "crashIndex", RoleRead, "A line for each crash report that is kept, newest last, and which crashes are alike.", reply((*Server).crashIndex)},
		{http.MethodGet, "/crashes/{id}", "crash", RoleRead, "One crash report.", reply((*Server).crash)},
		{http.MethodGet, "/extensions", "extensions", RoleRead, "The extensions of hosts.", reply((*Server).extensions)},
		{http.MethodPost, "/extensions/rescan", "rescanExtensions", RoleOperate, "Reads the extension folders again and applies what changed.", reply((*Server).rescan)},
		{http.MethodPost, "/extensions/{id}/{verb}", "setExtension", RoleOperate, "Enables, disables, isolates or releases an extension.", reply((*Server).setExtension)},
		{http.MethodPost, "/activate", "activate", RoleOperate, "Requests an activation event, and answers with the extensions that it made active.", reply((*Server).activate)},
		{http.MethodPost, "/language", "language", RoleFull, "Asks the extensions of VS Code about a document, such as what is defined at a position.", reply((*Server).language)},
		{http.MethodGet, "/questions", "questions", RoleRead, "Lists the open questions of extensions of VS Code to their user.", reply((*Server).questions)},
		{http.MethodPost, "/questions/{id}", "answer", RoleOperate, "Answers or dismisses a question of an extension.", reply((*Server).answer)},
		{http.MethodGet, "/activity", "activity", RoleRead, "What extensions of VS Code show in the status bar, and the progress that is running.", reply((*Server).activity)},
		{http.MethodPost, "/activity/{id}/cancel", "cancelProgress", RoleOperate, "Cancels a progress of an extension.", reply((*Server).cancelProgress)},
		{http.MethodGet, "/views", "views", RoleRead, "The views that extensions of VS Code have registered.", reply((*Server).views)},
		{http.MethodPost, "/views/{id}/read", "readView", RoleOperate, "Reads items of a view from its extension, which is activated for it.", reply((*Server).readView)},
		{http.MethodPost, "/views/{id}/act", "actInView", RoleFull, "Does what a user does in a view, such as selecting an item.", reply((*Server).actInView)},
		{http.MethodGet, "/scm", "sourceControls", RoleRead, "The source controls of extensions of VS Code, with the files that have changed.", reply((*Server).sourceControls)},
		{http.MethodPost, "/scm/{id}", "writeSourceControl", RoleFull, "Writes the message of a source control, and commits.", reply((*Server).writeSourceControl)},
		{http.MethodPost, "/files/decorations", "decorations", RoleOperate, "What extensions of VS Code show beside the names of files.", reply((*Server).decorations)},
		{http.MethodPost, "/files/timeline", "timeline", RoleOperate, "How a file has changed, such as its commits, as extensions tell it.", reply((*Server).timeline)},
		{http.MethodPost, "/files/originals", "originals", RoleFull, "What the source controls of extensions compare a file with.", reply((*Server).originals)},
		{http.MethodGet, "/tests", "testControllers", RoleRead, "The test controllers that extensions of VS Code have created.", reply((*Server).testControllers)},
		{http.MethodPost, "/hosts/{host}/tests/read", "readTests", RoleOperate, "Reads the tests of extensions of VS Code, which are asked for those that they have not looked for yet.", reply((*Server).readTests)},
		{http.MethodPost, "/hosts/{host}/tests/run", "runTests", RoleFull, "Runs tests of extensions, and replies with the results; the end of the request cancels the run.", reply((*Server).runTests)},
		{http.MethodGet, "/tests/runs", "testRuns", RoleRead, "The last runs of tests of extensions, with their results.", reply((*Server).testRuns)},
		{http.MethodPost, "/tests/runs/{id}/cancel", "cancelTestRun", RoleFull, "Cancels a run of tests.", reply((*Server).cancelTestRun)},
		{http.MethodPost, "/plan", "plan", RoleOperate, "Compares the tree with its configuration, or with another file, and changes nothing.", reply((*Server).plan)},
		{http.MethodPost, "/reload", "reload", RoleOperate, "Loads the configuration and changes what differs.", reply((*Server).reload)},
		{http.MethodPost, "/upgrade", "upgrade", RoleFull, "Has a process of another version, or of the same, take over from the supervisor.", reply((*Server).upgrade)},
		{http.MethodPost, "/hosts", "addHosts", RoleFull, "Adds the hosts of a file beside those of the configuration.", reply((*Server).addHosts)},
		{http.MethodDelete, "/hosts/{host}", "removeHost", RoleFull, "Stops a host and takes it out.", reply((*Server).removeHost)},

		{http.MethodGet, metricsPath, "metrics", RoleRead, "Figures for Prometheus, as text or in the format OpenMetrics.",
			rooted(raw((*Server).metrics, content{media: typeText}, content{media: typeOpenMetrics}))},

		{http.MethodPost, "/hosts/{host}/call", "call", RoleFull, "Calls a method of a host. With stream, each line of the answer is an element of the result.",
			raw((*Server).call, contentOf[callResponse](typeJSON),
				contentOf[itemLine](typeNDJSON, reflect.TypeFor[endLine]()), contentOf[itemLine](typeSSE, reflect.TypeFor[endLine]()))},
		{http.MethodPost, "/hosts/{host}/notify", "notify", RoleFull, "Sends a host a notification.", reply((*Server).notify)},
		{http.MethodPost, "/hosts/{host}/start", "start", RoleOperate, "Starts a host, and answers when it is running.", verb(Host.Start)},
		{http.MethodPost, "/hosts/{host}/stop", "stop", RoleOperate, "Stops a host, and answers when it is stopped.", verb(Host.Stop)},
		{http.MethodPost, "/hosts/{host}/restart", "restart", RoleOperate, "Restarts a host, and answers when it is running again.", verb(Host.Restart)},
		{http.MethodPost, "/hosts/{host}/reset", "reset", RoleOperate, "Clears the crash window of a host; a failed one starts again.", verb(Host.Reset)},
		{http.MethodPost, "/hosts/{host}/wait", "wait", RoleRead, "Answers when a host is in one of some states.", reply((*Server).wait)},
		{http.MethodGet, "/hosts/{host}/logs", "logs", RoleRead, "The last lines of a host's output, and later ones as they come.",
			lines[logsInput, capture.Line]((*Server).logs)},
		{http.MethodGet, "/hosts/{host}/channels", "channels", RoleRead, "The output channels that the extensions of a host have made.", reply((*Server).channels)},
		{http.MethodGet, "/hosts/{host}/messages", "messages", RoleRead, "The notifications and requests that a host makes from now on.",
			lines[hostInput, feed.Message]((*Server).messages, reflect.TypeFor[lostLine]())},
		{http.MethodPost, "/hosts/{host}/inspect", "inspect", RoleFull, "Makes a host that runs node open its inspector.", reply((*Server).inspect)},
		{http.MethodPost, "/hosts/{host}/profile", "profile", RoleFull, "Takes a CPU profile of a host that runs node: a .cpuprofile. The trailer Hostsup-End says how that ended.",
			raw((*Server).profile, content{media: typeBytes})},
		{http.MethodPost, "/hosts/{host}/heap", "heap", RoleFull, "Takes a heap snapshot of a host that runs node: a .heapsnapshot. The trailer Hostsup-End says how that ended.",
			raw((*Server).heap, content{media: typeBytes})},
		{http.MethodPost, "/hosts/{host}/attach", "attach", RoleFull, "Makes the caller a client of a host: the request's body carries its messages, the response's body those to it.",
			endlessly(raw((*Server).attach, content{media: typeBytes}))},
	}
}

func rooted(e endpoint) endpoint {
	e.rooted = true
	return e
}

func endlessly(e endpoint) endpoint {
	e.endless = true
	return e
}

//go:embed openapi.json
var openAPI []byte

// versionHeader carries the version of the supervisor in every response.
const versionHeader = "Hostsup-Version"

const (
	typeJSON   = "application/json"
	typeNDJSON = "application/x-ndjson"
	typeSSE    = "text/event-stream"
)

func hostPath(host, verb string) string {
	return prefix + "/hosts/" + url.PathEscape(host) + "/" + verb
}

// hostInput is the input of an operation on a host.
type hostInput struct {
	Host Host `path:"host" doc:"name of a host"`
}

// attachInput is the input of an operation by which a program attaches to a host.
type attachInput struct {
	Host Host   `path:"host" doc:"name of a host"`
	Dir  string `header:"Hostsup-Dir" doc:"folder that the program works in, percent-encoded; a host with instances chooses one by it, unless the program tells its folders itself"`
	Key  string `header:"Hostsup-Key" doc:"key of an instance of a template and the values of its variables, as percent-encoded JSON: {\"key\": \"…\", \"vars\": {\"NAME\": \"…\"}}"`
}

// callInput is the input of a call or notification.
type callInput struct {
	Host   Host     `path:"host" doc:"name of a host, or of one with several instances" instances:"any"`
	Parent []string `header:"traceparent" doc:"W3C trace context of the caller of a call, which the host gets where its protocol carries it; ignored if it is malformed"`
	State  []string `header:"tracestate" doc:"belongs to traceparent"`
	Body   callRequest
}

// callRequest is the body of a call or notification.
type callRequest struct {
	Method     string          `json:"method"`
	Params     json.RawMessage `json:"params,omitempty"`          // absent is null
	Timeout    float64         `json:"timeout_seconds,omitempty"` // 0: the host's own
	Idempotent bool            `json:"idempotent,omitempty"`      // it may be sent again to the next life of the host
	Stream     bool            `json:"stream,omitempty"`          // the result is a stream
	Instance
}

// Instance names the instance of a template: the host then has to be a template. The zero
// value names none.
type Instance struct {
	Key  string            `json:"key,omitempty"`  // see [attach.WithKey]
	Vars map[string]string `json:"vars,omitempty"` // values of its variables
}

// context returns a context for calls and programs of the instance.
func (i Instance) context(ctx context.Context, h Host) (context.Context, error) {
	if i.Key == "" && len(i.Vars) == 0 {
		return ctx, nil
	}
	if _, is := h.(pattern); !is {
		return nil, invalid(fmt.Sprintf("host %q is not a template: no key belongs to it", h.Status().Name))
	}
	return attach.WithKey(ctx, i.Key, i.Vars), nil
}

type callResponse struct {
	Result json.RawMessage `json:"result"`
}

// waitInput is the input of a wait.
type waitInput struct {
	Host Host `path:"host" doc:"name of a host"`
	Body waitRequest
}

// waitRequest is the body of a wait for one of some states.
type waitRequest struct {
	States  []lifecycle.State `json:"states"`
	Timeout float64           `json:"timeout_seconds,omitempty"` // 0: none
}

// eventsInput is the input of a request for events.
type eventsInput struct {
	Follow bool   `query:"follow" doc:"go on with later events"`
	Since  uint64 `query:"since" doc:"only events after this number"`
	Last   uint64 `header:"Last-Event-ID" doc:"as since, which has priority"`
}

// logsInput is the input of a request for lines of output.
type logsInput struct {
	Host    Host   `path:"host" doc:"name of a host"`
	N       int    `query:"n" required:"true" max:"1000000" doc:"how many lines of the past"`
	Follow  bool   `query:"follow" doc:"go on with later lines"`
	Channel string `query:"channel" doc:"only what extensions have written into this output channel, in place of what the host has printed"`
}

// allLogsInput is the input of a request for lines of output of several hosts.
type allLogsInput struct {
	Names  []string `query:"host" doc:"only these hosts (or all instances of one) and groups; may be repeated"`
	N      int      `query:"n" required:"true" max:"100000" doc:"how many lines of the past, of all hosts together"`
	Follow bool     `query:"follow" doc:"go on with later lines, also of hosts that are added later"`
}

// crashList is the response with crash reports.
type crashList struct {
	Crashes []record.CrashReport `json:"crashes"`
}

// lostLine replaces what a reader missed in a stream.
type lostLine struct {
	Lost uint64 `json:"lost"`
}

// endLine is the last line of every stream that was not cut off.
type endLine struct {
	End   bool   `json:"end,omitempty"`
	Error *Error `json:"error,omitempty"`
}

// itemLine is one element of a streamed result.
type itemLine struct {
	Item json.RawMessage `json:"item"`
}

// errorBody is a response that reports an error.
type errorBody struct {
	Error *Error `json:"error"`
}
