package server

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Auth is what a client has to show to open a WebSocket, as
// "Authorization: Bearer …". The zero value asks for nothing. It is a token that
// the client has, of which the server knows the hash or a file, or one that is
// signed with a secret that the server knows or has a file of: of the first four
// fields at most one may be set.
type Auth struct {
	TokenSHA256 string // in hex, of the token
	TokenFile   string // holds the token; space around it is left out

	JWTSecret     []byte // of HS256 tokens, which must have an exp
	JWTSecretFile string // holds the secret

	JWTIssuer   string        // that iss must be; "": any
	JWTAudience string        // that aud must have; "": any
	JWTSkew     time.Duration // by which clocks may differ; 0 is 30 s
}

const defaultSkew = 30 * time.Second

// ErrAuth is wrapped by the errors of an Auth, except for those of files that cannot
// be read.
var ErrAuth = errors.New("authentication")

// minSecret is the least length of a secret, so that it cannot be guessed.
const minSecret = 32

func (a *Auth) required() bool { return a.TokenSHA256 != "" || len(a.JWTSecret) > 0 }

// load reads the files, and returns an error for an invalid Auth.
func (a Auth) load(t Transport) (Auth, error) {
	given := 0
	for _, is := range []bool{a.TokenSHA256 != "", a.TokenFile != "", len(a.JWTSecret) > 0, a.JWTSecretFile != ""} {
		if is {
			given++
		}
	}
	switch {
	case given > 0 && t != WebSocket:
		return a, fmt.Errorf("%w is for WebSockets, not for %s", ErrAuth, t)
	case given > 1:
		return a, fmt.Errorf("%w is by a token or by a signed one, told in one way", ErrAuth)
	}
	if a.TokenFile != "" {
		token, err := secretIn(a.TokenFile)
		if err != nil {
			return a, err
		}
		sum := sha256.Sum256(token)
		a.TokenSHA256, a.TokenFile = hex.EncodeToString(sum[:]), ""
	}
	if a.JWTSecretFile != "" {
		secret, err := secretIn(a.JWTSecretFile)
		if err != nil {
			return a, err
		}
		a.JWTSecret, a.JWTSecretFile = secret, ""
	}
	if a.TokenSHA256 != "" {
		if b, err := hex.DecodeString(a.TokenSHA256); err != nil || len(b) != sha256.Size {
			return a, fmt.Errorf("%w: the SHA-256 of the token must be 64 hexadecimal digits", ErrAuth)
		}
	}
	if len(a.JWTSecret) > 0 && len(a.JWTSecret) < minSecret {
		return a, fmt.Errorf("%w: the shared secret must have at least %d bytes", ErrAuth, minSecret)
	}
	return a, nil
}

// secretIn returns the content of a file, without the space around it. The error
// names the file, and nothing of its content.
func secretIn(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if b = bytes.TrimSpace(b); len(b) == 0 {
		return nil, &os.PathError{Op: "read", Path: path, Err: errors.New("it is empty")}
	}
	return b, nil
}

// check returns why r is refused, or "".
func (a *Auth) check(r *http.Request) string {
	if !a.required() {
		return ""
	}
	if len(r.Header.Values("Authorization")) == 0 {
		return "missing websocket bearer token"
	}
	scheme, token, _ := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "invalid authorization header"
	}
	if a.TokenSHA256 != "" {
		want, _ := hex.DecodeString(a.TokenSHA256)
		got := sha256.Sum256([]byte(token))
		if subtle.ConstantTimeCompare(got[:], want) != 1 {
			return "invalid websocket bearer token"
		}
		return ""
	}
	skew := a.JWTSkew
	if skew == 0 {
		skew = defaultSkew
	}
	opts := []jwt.ParserOption{jwt.WithValidMethods([]string{"HS256"}), jwt.WithExpirationRequired(), jwt.WithLeeway(skew)}
	got, err := jwt.Parse(token, func(*jwt.Token) (any, error) { return a.JWTSecret, nil }, opts...)
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return "expired websocket jwt"
	case errors.Is(err, jwt.ErrTokenNotValidYet):
		return "websocket jwt is not valid yet"
	case err != nil:
		return "invalid websocket jwt"
	}
	// A claim that cannot be read does not match.
	issuer, _ := got.Claims.GetIssuer()
	audience, _ := got.Claims.GetAudience()
	switch {
	case a.JWTIssuer != "" && issuer != a.JWTIssuer:
		return "websocket jwt issuer mismatch"
	case a.JWTAudience != "" && !slices.Contains(audience, a.JWTAudience):
		return "websocket jwt audience mismatch"
	}
	return ""
}
