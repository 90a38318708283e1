package registry

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/extensions/install"
)

// Latest is the version that is asked for if the caller names no version.
const Latest = "latest"

// Ref names a package in a registry.
type Ref struct {
	ID      string // "publisher.name"
	Version string // "": [Latest]
}

// versionForm matches what a version may be in a URL.
var versionForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Za-z]+([.+-][0-9A-Za-z]+)*$`) })

// ParseRef parses "publisher.name" or "publisher.name@version".
func ParseRef(text string) (Ref, error) {
	id, version, has := text, "", false
	if i := strings.LastIndexByte(text, '@'); i > 0 && !strings.Contains(text[i:], "/") { // names may have a scope: @acme/words
		id, version, has = text[:i], text[i+1:], true
	}
	if !install.ValidID(id) || has && !versionForm().MatchString(version) {
		return Ref{}, fmt.Errorf("%w: publisher.name or publisher.name@version expected, found %q", ErrRef, text)
	}
	return Ref{id, version}, nil
}

func (r Ref) String() string {
	if r.Version == "" {
		return r.ID
	}
	return r.ID + "@" + r.Version
}

// placeholder matches one of a template.
var placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{[^{}]*\}`) })

// Check checks the URL of a registry. The error wraps [ErrURL].
func Check(template string) error {
	_, err := expand(template, Ref{"acme.words", "1.0.0"}, "linux-x64")
	if err != nil {
		return err
	}
	for _, name := range []string{"{publisher}", "{name}"} {
		if !strings.Contains(template, name) {
			return fmt.Errorf("%w: %s expected in it, found %q", ErrURL, name, template)
		}
	}
	return nil
}

// expand returns the URL of a package.
func expand(template string, ref Ref, target string) (*url.URL, error) {
	publisher, name, _ := strings.Cut(ref.ID, ".")
	values := map[string]string{"{publisher}": publisher, "{name}": name, "{version}": ref.Version, "{target}": target}
	var errs []error
	text := placeholder().ReplaceAllStringFunc(template, func(p string) string {
		value, ok := values[p]
		if !ok {
			errs = append(errs, fmt.Errorf("%w: {publisher}, {name}, {version} or {target} expected, found %s", ErrURL, p))
		}
		return url.PathEscape(value)
	})
	if len(errs) > 0 {
		return nil, errs[0]
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrURL, err)
	}
	return u, permitted(u)
}

// permitted checks that a URL is one from which packages may be taken.
func permitted(u *url.URL) error {
	switch {
	case u.Scheme == "https" && u.Hostname() != "", u.Scheme == "http" && isLoopback(u.Hostname()), u.Scheme == "file" && (u.Host == "" || u.Host == "localhost") && u.Path != "":
		return nil
	case u.Scheme == "http":
		return fmt.Errorf("%w: https expected, or http to the loopback of this machine, found %s", ErrURL, u.Redacted())
	}
	return fmt.Errorf("%w: https://HOST/… or file:///… expected, found %s", ErrURL, u.Redacted())
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Errors of this package; test with errors.Is.
var (
	// ErrRef means that a text does not name a package.
	ErrRef = errors.New("not a name of a package")
	// ErrURL means that the URL of a registry, or one that it redirects to, is wrong or not
	// permitted.
	ErrURL = errors.New("wrong URL of a registry")
	// ErrNotFound means that a registry does not have a package.
	ErrNotFound = errors.New("the registry does not have it")
	// ErrAnswer means that a registry answered with an error, or with another package than
	// was asked for.
	ErrAnswer = errors.New("wrong answer of the registry")
)
