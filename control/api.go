package control

import (
	"encoding/json"
	"net/url"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/lifecycle"
)

// The paths. HOST and ID are escaped path segments.
//
//	GET  /v1/status?host=…                  supervisor.Status
//	GET  /v1/events?follow=true             one actors.Event or {"lost": n} a line
//	GET  /v1/crashes?host=…                 crashList
//	GET  /v1/crashes/ID                     actors.CrashReport
//	POST /v1/hosts/HOST/call                callRequest → callResponse; with "stream" one streamLine a line
//	POST /v1/hosts/HOST/notify              callRequest → {}
//	POST /v1/hosts/HOST/{start,stop,restart,reset}   → actors.HostStatus
//	POST /v1/hosts/HOST/wait                waitRequest → actors.HostStatus
//	GET  /v1/hosts/HOST/logs?n=…&follow=true   one capture.Line a line
//	POST /v1/hosts/HOST/inspect             → supervisor.Inspection
//	POST /v1/hosts/HOST/profile             profileRequest → a .cpuprofile; the trailer endTrailer has an endLine
//	POST /v1/hosts/HOST/heap                → a .heapsnapshot; likewise
//	GET  /v1/extensions?host=…              extensionList
//	POST /v1/extensions/ID/{enable,disable,isolate,release}?host=…   → extensionList
//	POST /v1/activate                       activateRequest → extensionList
const prefix = "/v1"

// versionHeader carries the version of the supervisor in every response.
const versionHeader = "Hostsup-Version"

const (
	typeJSON   = "application/json"
	typeNDJSON = "application/x-ndjson"
)

func hostPath(host, verb string) string {
	return prefix + "/hosts/" + url.PathEscape(host) + "/" + verb
}

// callRequest is the body of a call or notification.
type callRequest struct {
	Method     string          `json:"method"`
	Params     json.RawMessage `json:"params,omitempty"`          // absent is null
	Timeout    float64         `json:"timeout_seconds,omitempty"` // 0: the host's own
	Idempotent bool            `json:"idempotent,omitempty"`
	Stream     bool            `json:"stream,omitempty"`
}

type callResponse struct {
	Result json.RawMessage `json:"result"`
}

// waitRequest is the body of a wait for one of some states.
type waitRequest struct {
	States  []lifecycle.State `json:"states"`
	Timeout float64           `json:"timeout_seconds,omitempty"` // 0: none
}

type crashList struct {
	Crashes []actors.CrashReport `json:"crashes"`
}

// lostLine replaces the events that a reader missed in a stream.
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
