//go:build linux

package integration

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/jsonwalk"
)

// certificates are files of a user's, with a server that asks for one of them.
type certificates struct {
	t   *testing.T
	uid int
	dir string

	site, people *authority
	roots        *x509.CertPool // that the server trusts
}

func newCertificates(t *testing.T, uid int) *certificates {
	c := &certificates{t: t, uid: uid, dir: place(t, uid), site: issue(t, nil, "site", 0), people: issue(t, nil, "people", 0), roots: x509.NewCertPool()}
	c.roots.AddCert(c.people.cert)
	c.file("ca.pem", c.site, false)
	return c
}

func (c *certificates) path(name string) string { return filepath.Join(c.dir, name) }

// write makes a file that its owner alone reads.
func (c *certificates) write(name string, text []byte) string {
	c.t.Helper()
	path := c.path(name)
	if err := errors.Join(os.WriteFile(path, text, 0o600), os.Chown(path, c.uid, c.uid)); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// file writes a certificate to a file, with its key behind it.
func (c *certificates) file(name string, a *authority, withKey bool) {
	c.t.Helper()
	text, key := a.pem(c.t)
	if withKey {
		text = append(text, key...)
	}
	c.write(name, text)
}

// server runs an MCP server that answers what shows a certificate, and returns its URL.
func (c *certificates) server(change func(*httptest.Server)) string {
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a client that leaves is no matter
		id := jsonwalk.Member(body, "id")
		if id == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":%q,"version":"1"}}}`,
			id, r.TLS.PeerCertificates[0].Subject.CommonName)
	}))
	cert, key := issue(c.t, c.site, "server", x509.ExtKeyUsageServerAuth).pem(c.t)
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		c.t.Fatal(err)
	}
	web.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: c.roots} //nolint:gosec // the default of the version is good
	web.Config.ErrorLog = log.New(io.Discard, "", 0)
	change(web)
	web.StartTLS()
	c.t.Cleanup(web.Close)
	return web.URL + "/mcp"
}

const openRemote = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"agent","version":"1"}}}` + "\n"

// A server that asks for a certificate is shown that of remote.cert, and what it has against
// it, or is wrong with its files, is said.
func TestMCPRemoteClientCertificate(t *testing.T) {
	t.Parallel()
	c := newCertificates(t, os.Getuid())
	const use = x509.ExtKeyUsageClientAuth
	c.file("right.pem", issue(t, c.people, "agent", use), true)
	c.file("another.pem", issue(t, issue(t, nil, "strangers", 0), "stranger", use), true)
	c.file("alone.pem", issue(t, c.people, "agent", use), false)
	c.file("old.pem", issue(t, c.people, "agent", use, func(x *x509.Certificate) {
		x.NotBefore, x.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
	}), true)
	if err := os.Mkdir(c.path("folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	files := func(names ...string) (args []string) {
		for i, name := range names {
			args = append(args, []string{"--cert", "--key"}[i], c.path(name))
		}
		return args
	}
	servers := map[string]string{
		"1.3":    c.server(func(*httptest.Server) {}),
		"1.2":    c.server(func(s *httptest.Server) { s.TLS.MaxVersion = tls.VersionTLS12 }),
		"HTTP 2": c.server(func(s *httptest.Server) { s.EnableHTTP2 = true }),
	}
	for _, x := range []struct {
		name string
		args []string
		want string
		here bool // no server is asked
	}{
		{name: "right", args: files("right.pem"), want: ""},
		{name: "none", want: "asks for a certificate of this side: name a file with it, and one with its key, as remote.cert and remote.key"},
		{name: "another authority", args: files("another.pem"), want: "refuses the certificate that remote.cert of the host (or --cert) names: it is signed by an authority that the server does not trust"},
		{name: "expired", args: files("old.pem"), want: "refuses the certificate that remote.cert of the host (or --cert) names: it has expired"},
		{name: "no certificate", args: files("missing.pem"), want: "--cert: open " + c.path("missing.pem") + ": no such file", here: true},
		{name: "no key", args: files("right.pem", "missing.pem"), want: "--key: open " + c.path("missing.pem") + ": no such file", here: true},
		{name: "an unreadable key", args: files("right.pem", "folder"), want: "--key: read " + c.path("folder") + ": is a directory", here: true},
		{name: "a certificate without its key", args: files("alone.pem"), want: "tls: found a certificate rather than a key", here: true},
		{name: "the key of another", args: files("right.pem", "another.pem"), want: "private key does not match public key", here: true},
	} {
		for version, at := range servers {
			if x.here && version != "1.3" {
				continue
			}
			t.Run(x.name+" over TLS "+version, func(t *testing.T) {
				t.Parallel()
				cmd := exec.CommandContext(ctx(t), hostsupBinary(t), append([]string{"connect", "--ca", c.path("ca.pem"), "--connect-timeout", "20s", at}, x.args...)...)
				cmd.Stdin = strings.NewReader(openRemote)
				var said strings.Builder
				cmd.Stderr = &said
				out, err := cmd.Output()
				switch {
				case x.want == "" && (err != nil || !strings.Contains(string(out), `"id":0,"result"`) || !strings.Contains(string(out), `"agent"`)):
					t.Errorf("%v: %s, %s", err, out, said.String())
				case x.want != "" && (cmd.ProcessState.ExitCode() != 1 || len(out) > 0 || !strings.Contains(said.String(), x.want)):
					t.Errorf("%v: %s, %q, want %q", err, out, said.String(), x.want)
				}
			})
		}
	}
}

// The client of a server elsewhere is confined as its host says: it reaches that server, reads
// the files of remote, and has a network of its own unless the file says otherwise.
func TestMCPRemoteConfined(t *testing.T) {
	t.Parallel()
	confinable(t)
	users(t, func(t *testing.T, uid int) {
		c := newCertificates(t, uid)
		c.file("agent.pem", issue(t, c.people, "agent", x509.ExtKeyUsageClientAuth), true)
		for _, name := range []string{"ca.pem", "agent.pem"} { // as root, a confined process is another user
			if err := os.Chmod(c.path(name), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		text := fmt.Sprintf("supervisor {\n  state_dir = %q\n}\n", c.path("state"))
		networks := map[string]string{"default": "", "allow": `network = "allow"`, "host": `network = "host"`}
		for name, network := range networks {
			text += remoteHost(name, c.server(func(*httptest.Server) {}), `
  remote {
    ca   = "ca.pem"
    cert = "agent.pem"
  }
  sandbox {
    profile = "mcp-server"
    level   = "no-cgroup"
    `+network+`
  }
`)
		}
		_, stop := serves(t, uid, c.dir, c.write("config.hcl", []byte(text)))
		defer stop()
		own, err := os.Readlink("/proc/self/ns/net")
		if err != nil {
			t.Fatal(err)
		}
		for name := range networks {
			cmd := as(uid, exec.CommandContext(ctx(t), hostsupBinary(t), "--socket", c.path("sock"), "attach", name))
			cmd.Stdin = strings.NewReader(openRemote)
			var said strings.Builder
			cmd.Stderr = &said
			out, err := cmd.Output()
			if err != nil || !strings.Contains(string(out), `"agent"`) {
				t.Errorf("%s: %v: %s, %s, %s", name, err, out, said.String(), hostsupAs(t, uid, c.dir, "--socket", c.path("sock"), "status", name).out)
				continue
			}
			pid := strings.TrimSpace(hostsupAs(t, uid, c.dir, "--socket", c.path("sock"), "status", name, "--pid").out)
			if network, err := os.Readlink("/proc/" + pid + "/ns/net"); err != nil || (network == own) != (name == "host") {
				t.Errorf("%s: network %s, here %s, %v", name, network, own, err)
			}
		}
	})
}
