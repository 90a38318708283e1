package integration

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// issue makes a certificate that by has signed, or nobody else. more changes what is in it.
func issue(t *testing.T, by *authority, name string, use x509.ExtKeyUsage, more ...func(*x509.Certificate)) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	want := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{use},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true,
	}
	if by == nil {
		by = &authority{want, key}
		want.IsCA, want.KeyUsage, want.ExtKeyUsage = true, x509.KeyUsageCertSign, nil
	}
	for _, change := range more {
		change(want)
	}
	der, err := x509.CreateCertificate(rand.Reader, want, by.cert, key.Public(), by.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{cert, key}
}

func (a *authority) pem(t *testing.T) (cert, key []byte) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(a.key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// The console is encrypted, and asks for a certificate as well as for a token.
func TestConsoleTLS(t *testing.T) {
	t.Parallel()
	dir := place(t, os.Getuid())
	write := func(name string, text []byte) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	site, people, strangers := issue(t, nil, "site", 0), issue(t, nil, "people", 0), issue(t, nil, "strangers", 0)
	server := issue(t, site, "console", x509.ExtKeyUsageServerAuth)
	cert, key := server.pem(t)
	ca, _ := people.pem(t)
	token := strings.Repeat("read-only-", 5)
	file := write("config.hcl", []byte(`
supervisor {
  socket    = "`+dir+`/control"
  state_dir = "`+dir+`/state"
  console {
    listen = "127.0.0.1:0"
    tls {
      cert      = "`+write("cert.pem", cert)+`"
      key       = "`+write("key.pem", key)+`"
      client_ca = "`+write("ca.pem", ca)+`"
    }
    token "page" {
      role = "read"
      file = "`+write("token", []byte(token))+`"
    }
  }
}
host "sleeper" {
  command  = ["/bin/sleep", "1000"]
  protocol = "none"
}
`))
	cmd := exec.CommandContext(ctx(t), hostsupBinary(t), "run", "-c", file)
	told, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var url string
	lines := bufio.NewScanner(told)
	for url == "" && lines.Scan() {
		if _, after, ok := strings.Cut(lines.Text(), "console "); ok && strings.HasPrefix(lines.Text(), "hostsup: ready") {
			url = strings.TrimRight(after, ")/")
		}
	}
	if !strings.HasPrefix(url, "https://127.0.0.1:") {
		t.Fatalf("%q", url)
	}
	go func() { _, _ = io.Copy(io.Discard, told) }() // ends with the process

	roots := x509.NewCertPool()
	roots.AddCert(site.cert)
	ask := func(by *authority, token, method, path string) (int, error) {
		t.Helper()
		conf := &tls.Config{RootCAs: roots}
		if by != nil {
			who := issue(t, by, "caller", x509.ExtKeyUsageClientAuth)
			conf.Certificates = []tls.Certificate{{Certificate: [][]byte{who.cert.Raw}, PrivateKey: who.key}}
		}
		req, err := http.NewRequestWithContext(ctx(t), method, url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: conf, DisableKeepAlives: true}}).Do(req)
		if err != nil {
			return 0, err
		}
		_, err = io.Copy(io.Discard, res.Body)
		return res.StatusCode, errors.Join(err, res.Body.Close())
	}
	for _, row := range []struct {
		name         string
		by           *authority
		token        string
		method, path string
		want         int // 0: no response at all
	}{
		{"a person", people, token, http.MethodGet, "/v1/status", http.StatusOK},
		{"without a certificate", nil, token, http.MethodGet, "/v1/status", 0},
		{"with one of others", strangers, token, http.MethodGet, "/v1/status", 0},
		{"without a token", people, "", http.MethodGet, "/v1/status", http.StatusUnauthorized},
		{"beyond the role", people, token, http.MethodPost, "/v1/hosts/sleeper/stop", http.StatusForbidden},
	} {
		if got, err := ask(row.by, row.token, row.method, row.path); got != row.want || (err == nil) != (row.want != 0) {
			t.Errorf("%s: %d, %v, want %d", row.name, got, err, row.want)
		}
	}
	// The command line has the same means.
	who := issue(t, people, "caller", x509.ExtKeyUsageClientAuth)
	whoCert, whoKey := who.pem(t)
	siteCA, _ := site.pem(t)
	roots1, pair := write("site.pem", siteCA), write("who.pem", append(whoCert, whoKey...))
	alone, itsKey := write("alone.pem", whoCert), write("alone.key", whoKey)
	for _, row := range []struct {
		name string
		args []string
		env  []string
		code int
		says string
	}{
		{"all named", []string{"--ca", roots1, "--cert", alone, "--key", itsKey, "status"}, nil, 0, "sleeper"},
		{"by the environment, one file for both", []string{"status"}, []string{"HOSTSUP_CA=" + roots1, "HOSTSUP_CERT=" + pair}, 0, "sleeper"},
		{"another verb than the role may use", []string{"--ca", roots1, "--cert", pair, "stop", "sleeper"}, nil, 1, "needs the role operate"},
		{"an authority that is not trusted", []string{"--cert", pair, "status"}, nil, 1, "is not trusted: x509: "},
		{"no certificate", []string{"--ca", roots1, "status"}, nil, 1, "it may need a certificate of the caller"},
		{"no such file", []string{"--ca", dir + "/nothing", "status"}, nil, 1, "--ca: open "},
		{"no certificates in it", []string{"--ca", itsKey, "status"}, nil, 1, "has no certificates"},
		{"no key in it", []string{"--cert", alone, "status"}, nil, 1, "--cert: "},
		{"a key alone", []string{"--key", itsKey, "status"}, nil, 2, "--key needs --cert"},
	} {
		cmd := exec.CommandContext(ctx(t), hostsupBinary(t), append([]string{"--url", url, "--token-file", dir + "/token"}, row.args...)...)
		cmd.Env = append(os.Environ(), row.env...)
		said, _ := cmd.CombinedOutput() // the code is looked at
		if code := cmd.ProcessState.ExitCode(); code != row.code || !strings.Contains(string(said), row.says) {
			t.Errorf("%s: exit code %d, %s", row.name, code, said)
		}
	}
	if plain, err := http.Get(strings.Replace(url, "https", "http", 1) + "/v1/status"); err == nil { //nolint:noctx // refused at once
		if plain.StatusCode != http.StatusBadRequest {
			t.Errorf("unencrypted: %s", plain.Status)
		}
		_ = plain.Body.Close()
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
