package control

import (
	"net/http"

	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/service"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/workbench/questions"
	"github.com/hostsup/hostsup/workbench/scm"
	"github.com/hostsup/hostsup/workbench/status"
	"github.com/hostsup/hostsup/workbench/tests"
	"github.com/hostsup/hostsup/workbench/views"
)

// Class is the kind of an error, for scripts: it is the "class" of an error in JSON and
// precedes the message in a terminal. Classes are added, never renamed.
type Class string

// The classes of errors.
const (
	HostError    Class = "host_error"     // the host answered with an error of its own
	Crashed      Class = "crashed"        // the host's process ended before it answered
	Unresponsive Class = "unresponsive"   // the host was killed because it did not respond
	TimedOut     Class = "timed_out"      // the deadline passed first
	Cancelled    Class = "cancelled"      // the caller went away
	Overloaded   Class = "overloaded"     // max_pending requests are open already
	Stopped      Class = "stopped"        // the host is stopped or stopping
	Failed       Class = "failed"         // the host was given up
	NoSuchMethod Class = "no_such_method" // the host does not know the method
	NoProtocol   Class = "no_protocol"    // protocol = "none": the host cannot be called
	NoSuchHost   Class = "no_such_host"   // no host of that name is configured
	NoSuchCrash  Class = "no_such_crash"  // no crash report of that id is kept
	NoExtensions Class = "no_extensions"  // the host has no extensions
	NoProvider   Class = "no_provider"    // no extension provides the language feature for the document
	NoInspector  Class = "no_inspector"   // the host cannot be inspected
	NotActive    Class = "not_active"     // extensions could not be activated
	Invalid      Class = "invalid"        // the request itself is wrong
	TooLarge     Class = "too_large"      // the request is over the server's limit
	Closed       Class = "closed"         // the supervisor is stopping or has stopped
	NameTaken    Class = "name_taken"     // a host or group has this name already
	Forbidden    Class = "forbidden"      // this user may not use the socket, or this token or page not the operation
	Unauthorized Class = "unauthorized"   // console: a request without a token of the supervisor
	Unknown      Class = "unknown"        // the supervisor does not know the request: another version
	Internal     Class = "internal"       // none of the above

	NoSuchQuestion Class = "no_such_question" // no question of that id is open

	NoSuchProgress Class = "no_such_progress" // no progress of that id is running

	NoSuchView Class = "no_such_view" // no extension has registered a view of that id

	NoSuchItem Class = "no_such_item" // the view has no item of that handle, or it was not read

	NoSuchSourceControl Class = "no_such_source_control" // no extension has a source control of that id

	NoSuchTest    Class = "no_such_test"     // no extension has a test of that id
	NoSuchTestRun Class = "no_such_test_run" // no run of tests with that id is kept

	NoSuchChannel Class = "no_such_channel" // the host has no output channel of that name

	NoSuchExtension Class = "no_such_extension" // there is no extension of that id

	InvalidConfig Class = "invalid_configuration" // the file of the supervisor is not valid

	NotReplaced Class = "not_replaced" // the process that was to take over from the supervisor does not, and the supervisor goes on

	NoSupervisor Class = "no_supervisor" // client: no process listens at the socket
	Disconnected Class = "disconnected"  // client: the supervisor went away before it answered
)

// classes maps each class to its HTTP status and to an error of the supervisor. Order
// matters: the first matching sentinel decides the class of an error.
var classes = []struct {
	class  Class
	status int
	is     error // nil: the class has no sentinel
}{
	{NoSuchHost, http.StatusNotFound, supervisor.ErrNoHost},
	{NoSuchCrash, http.StatusNotFound, supervisor.ErrNoCrash},
	{NoSuchExtension, http.StatusNotFound, extensions.ErrUnknown},
	{NoSuchChannel, http.StatusNotFound, extensions.ErrNoChannel},
	{NoSuchQuestion, http.StatusNotFound, questions.ErrNoQuestion},
	{Invalid, http.StatusBadRequest, questions.ErrAnswer},
	{NoSuchProgress, http.StatusNotFound, status.ErrNoProgress},
	{Invalid, http.StatusBadRequest, status.ErrNotCancelable},
	{NoSuchSourceControl, http.StatusNotFound, scm.ErrNoControl},
	{Invalid, http.StatusBadRequest, scm.ErrNotAccepted},
	{NoSuchTest, http.StatusNotFound, tests.ErrNoTest},
	{NoSuchTestRun, http.StatusNotFound, tests.ErrNoRun},
	{Invalid, http.StatusBadRequest, tests.ErrNoProfile},
	{NoSuchView, http.StatusNotFound, views.ErrNoView},
	{NoSuchItem, http.StatusNotFound, views.ErrNoItem},
	{Invalid, http.StatusBadRequest, views.ErrAction},
	{NoExtensions, http.StatusConflict, extensions.ErrNoExtensions},
	{NoExtensions, http.StatusConflict, extensions.ErrNoFolders},
	{NoProvider, http.StatusNotFound, extensions.ErrNoProvider},
	{NoInspector, http.StatusConflict, supervisor.ErrNoInspector},
	{NotActive, http.StatusBadGateway, service.ErrNotActive},
	{NoSuchMethod, http.StatusNotFound, supervisor.ErrNoSuchMethod},
	{NoProtocol, http.StatusConflict, supervisor.ErrNoProtocol},
	{Unresponsive, http.StatusBadGateway, supervisor.ErrUnresponsive},
	{Crashed, http.StatusBadGateway, supervisor.ErrCrashed},
	{Overloaded, http.StatusServiceUnavailable, supervisor.ErrOverloaded},
	{Closed, http.StatusServiceUnavailable, supervisor.ErrClosed}, // before Stopped, which its hosts then return too
	{Closed, http.StatusServiceUnavailable, service.ErrClosed},
	{Stopped, http.StatusConflict, supervisor.ErrStopped},
	{Failed, http.StatusConflict, supervisor.ErrFailed},
	{TimedOut, http.StatusGatewayTimeout, supervisor.ErrTimeout},
	{Cancelled, statusClientGone, supervisor.ErrCancelled},
	{HostError, http.StatusBadGateway, nil},
	{TooLarge, http.StatusRequestEntityTooLarge, codec.ErrTooLarge}, // for frames; requests have no sentinel
	{Invalid, http.StatusBadRequest, attach.ErrClient},
	{Invalid, http.StatusBadRequest, attach.ErrKey},
	{Overloaded, http.StatusServiceUnavailable, attach.ErrInstances},
	{Invalid, http.StatusBadRequest, extensions.ErrVerb},
	{Invalid, http.StatusBadRequest, supervisor.ErrReserved},
	{Invalid, http.StatusBadRequest, supervisor.ErrUnsendable},
	{NameTaken, http.StatusConflict, supervisor.ErrNameTaken},
	{InvalidConfig, http.StatusUnprocessableEntity, nil},
	{NotReplaced, http.StatusBadGateway, nil},
	{Forbidden, http.StatusForbidden, nil},
	{Unauthorized, http.StatusUnauthorized, nil},
	{Unknown, http.StatusNotFound, nil},
	{Internal, http.StatusInternalServerError, nil},
}

// statusClientGone is recorded for a caller that has gone away.
const statusClientGone = 499

func (c Class) status() int {
	for _, row := range classes {
		if row.class == c {
			return row.status
		}
	}
	return http.StatusInternalServerError
}

func (c Class) sentinel() error {
	for _, row := range classes {
		if row.class == c {
			return row.is
		}
	}
	return nil
}
