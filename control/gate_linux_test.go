package control_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/controltest"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// answering returns a supervisor whose host answers with the name of the supervisor, once go on is closed.
func answering(name string, began chan<- string, goOn <-chan struct{}) *controltest.Supervisor {
	h := controltest.NewHost(record.HostStatus{Name: "h"})
	h.Enc = native.New()
	h.OnCall = func(_ context.Context, c control.Call) (codec.Raw, error) {
		if c.Method == "wait" {
			began <- name
			<-goOn
		}
		return h.Enc.FromJSON(fmt.Appendf(nil, "%q", name+":"+c.Method))
	}
	return &controltest.Supervisor{Members: []*controltest.Host{h}}
}

// served serves a supervisor at a listener until the end of the test.
func served(t *testing.T, sup control.Supervisor, l *control.Listener) *control.Server {
	t.Helper()
	srv := control.NewServer(sup, control.Options{})
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	t.Cleanup(func() {
		if err := srv.Close(context.Background()); err != nil {
			t.Error(err)
		}
		<-done
		_ = l.Close()
	})
	return srv
}

// inherit does what another process does with the files of a listener.
func inherit(path string, files *control.Inherited) (*control.Listener, error) {
	listen := func(f *os.File) net.Listener {
		l, err := net.FileListener(f)
		if err = errors.Join(err, f.Close()); err != nil {
			panic(err)
		}
		return l
	}
	return control.Inherit(path, listen(files.Socket), files.Lock, listen(files.Identity))
}

// TestAnotherServerTakesOver has calls wait while a server is replaced by another one with the same socket. Each call is answered
// once: those that were under way by the first server, and those that waited by the second.
func TestAnotherServerTakesOver(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	first, err := control.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	began, goOn := make(chan string), make(chan struct{})
	old := served(t, answering("first", began, goOn), first)
	client := control.NewClient(socket)
	defer client.Close()
	call := func(method string) string {
		out, err := client.Call(t.Context(), control.Request{Host: "h", Method: method})
		return fmt.Sprint(string(out), err)
	}
	answers := make(chan string, 10)
	go func() { answers <- call("wait") }()
	<-began
	old.Hold()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if n := old.Drained(ctx); n != 1 {
		t.Errorf("%d requests are under way, expected 1", n)
	}
	for i := range 3 {
		go func() { answers <- call(fmt.Sprint("held", i)) }()
	}
	close(goOn)
	if got := <-answers; got != `"first:wait"<nil>` {
		t.Errorf("the call that was under way: %s", got)
	}
	if n := old.Drained(t.Context()); n != 0 {
		t.Errorf("%d requests are under way", n)
	}

	first.Pause()
	files, err := first.Files()
	if err != nil {
		t.Fatal(err)
	}
	second, err := inherit(socket, files)
	if err != nil {
		t.Fatal(err)
	}
	first.Resume()
	if err := second.Own(); err != nil {
		t.Error(err)
	}
	served(t, answering("second", nil, nil), second)
	old.Pass(socket)
	if err := first.Leave(); err != nil {
		t.Error(err)
	}
	var got []string
	for range 3 {
		got = append(got, <-answers)
	}
	slices.Sort(got)
	if want := []string{`"second:held0"<nil>`, `"second:held1"<nil>`, `"second:held2"<nil>`}; !slices.Equal(got, want) {
		t.Errorf("the calls that waited: %v, expected %v", got, want)
	}
	client.Close()        // of the connection that was not used again
	old.Left(t.Context()) // the others have ended with their calls
	if got := call("later"); got != `"second:later"<nil>` {
		t.Errorf("a later call: %s", got)
	}
}

// TestReleaseGoesOn holds requests and releases them.
func TestReleaseGoesOn(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := control.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := served(t, answering("first", nil, nil), l)
	client := control.NewClient(socket)
	defer client.Close()
	srv.Hold()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := client.Status(ctx); control.ClassOf(err) != control.TimedOut {
		t.Errorf("a request was served meanwhile: %v", err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := client.Call(t.Context(), control.Request{Host: "h", Method: "m"})
		done <- err
	}()
	srv.Release()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestBorrowedSocketStays closes a listener that was inherited and never owned: the first owner goes on.
func TestBorrowedSocketStays(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := control.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	served(t, answering("first", nil, nil), l)
	files, err := l.Files()
	if err != nil {
		t.Fatal(err)
	}
	l.Pause() // files are made blocking for a moment
	borrowed, err := inherit(socket, files)
	if err != nil {
		t.Fatal(err)
	}
	l.Resume()
	if err := borrowed.Close(); err != nil {
		t.Error(err)
	}
	client := control.NewClient(socket)
	defer client.Close()
	if _, err := client.Status(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := control.Inherit(socket, nil, nil, nil); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("without files: %v", err)
	}
}

// TestUpgradeRequests sends requests for an upgrade.
func TestUpgradeRequests(t *testing.T) {
	var did []string
	opt := control.Options{Upgrader: upgrading(func(what string) { did = append(did, what) })}
	client := control.NewClient(controltest.Serve(t, everything(), opt))
	defer client.Close()
	u, err := client.Upgrade(t.Context(), "/usr/bin/hostsup", 0)
	if err != nil || u.PID != 2 || u.Stayed[0] != "ts" || u.Removed == nil {
		t.Errorf("%+v, %v", u, err)
	}
	for path, drain := range map[string]time.Duration{"hostsup": 0, "": -time.Second, "/x": 16 * time.Second} {
		if _, err := client.Upgrade(t.Context(), path, drain); control.ClassOf(err) != control.Invalid {
			t.Errorf("%q, %s: %v", path, drain, err)
		}
	}
	if want := []string{"upgrade /usr/bin/hostsup5s"}; !slices.Equal(did, want) {
		t.Errorf("did %v, expected %v", did, want)
	}
	without := control.NewClient(controltest.Serve(t, everything(), control.Options{}))
	defer without.Close()
	if _, err := without.Upgrade(t.Context(), "", 0); control.ClassOf(err) != control.Unknown {
		t.Errorf("without an Upgrader: %v", err)
	}
	addr := console(t, everything(), opt, control.Access{})
	res, text := ask(t, addr, http.MethodPost, "/v1/upgrade", `{"path":"/bin/sh"}`, "Authorization", "Bearer "+secretOf(control.RoleFull))
	if res.StatusCode != http.StatusForbidden || !json.Valid(bytes.TrimSpace(text)) {
		t.Errorf("over a network: %d %s", res.StatusCode, text)
	}
}
