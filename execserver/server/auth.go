package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Auth is what a client has to show to open a WebSocket, as
// "Authorization: Bearer …". The zero value asks for nothing. At most one of
// TokenSHA256 and JWTSecret may be set.
type Auth struct {
	TokenSHA256 string // in hex, of a token that the client has

	JWTSecret   []byte        // of HS256 tokens, which must have an exp
	JWTIssuer   string        // that iss must be; "": any
	JWTAudience string        // that aud must have; "": any
	JWTSkew     time.Duration // by which clocks may differ; 0 is 30 s
}

// minSecret is how long a secret must be that nobody is to guess.
const minSecret = 32

func (a *Auth) required() bool { return a.TokenSHA256 != "" || len(a.JWTSecret) > 0 }

func (a *Auth) validate(t Transport) error {
	switch {
	case a.required() && t != WebSocket:
		return fmt.Errorf("authentication is for WebSockets, not for %s", t)
	case a.TokenSHA256 != "" && len(a.JWTSecret) > 0:
		return errors.New("authentication is by a token or by a signed one, not by both")
	case a.TokenSHA256 != "":
		if b, err := hex.DecodeString(a.TokenSHA256); err != nil || len(b) != sha256.Size {
			return errors.New("the SHA-256 of the token must be 64 hexadecimal digits")
		}
	case len(a.JWTSecret) > 0 && len(a.JWTSecret) < minSecret:
		return fmt.Errorf("the shared secret must have at least %d bytes", minSecret)
	}
	return nil
}

// check says why r is refused; "" lets it in.
func (a *Auth) check(r *http.Request) string {
	if !a.required() {
		return ""
	}
	scheme, token, _ := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "missing websocket bearer token"
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
		skew = 30 * time.Second
	}
	opts := []jwt.ParserOption{jwt.WithValidMethods([]string{"HS256"}), jwt.WithExpirationRequired(), jwt.WithLeeway(skew)}
	if a.JWTIssuer != "" {
		opts = append(opts, jwt.WithIssuer(a.JWTIssuer))
	}
	if a.JWTAudience != "" {
		opts = append(opts, jwt.WithAudience(a.JWTAudience))
	}
	_, err := jwt.Parse(token, func(*jwt.Token) (any, error) { return a.JWTSecret, nil }, opts...)
	switch {
	case err == nil:
		return ""
	case errors.Is(err, jwt.ErrTokenExpired):
		return "expired websocket jwt"
	}
	return "invalid websocket jwt"
}
