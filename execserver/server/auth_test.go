//go:build unix

package server

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

func TestAuth(t *testing.T) {
	secret := []byte("0123456789abcdef0123456789abcdef")
	sign := func(method jwt.SigningMethod, key any, claims jwt.MapClaims) string {
		s, err := jwt.NewWithClaims(method, claims).SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return "Bearer " + s
	}
	soon, past := time.Now().Add(time.Hour).Unix(), time.Now().Add(-time.Hour).Unix()
	sum := sha256.Sum256([]byte("s3cret"))
	token := Auth{TokenSHA256: hex.EncodeToString(sum[:])}
	signed := Auth{JWTSecret: secret}
	strict := Auth{JWTSecret: secret, JWTIssuer: "me", JWTAudience: "you"}
	for name, c := range map[string]struct {
		a    Auth
		head string
		want string
	}{
		"none":            {Auth{}, "", ""},
		"missing":         {token, "", "missing websocket bearer token"},
		"other scheme":    {token, "Basic s3cret", "invalid authorization header"},
		"wrong":           {token, "Bearer nope", "invalid websocket bearer token"},
		"right":           {token, "Bearer s3cret", ""},
		"right, lower":    {token, "bearer s3cret", ""},
		"jwt":             {signed, sign(jwt.SigningMethodHS256, secret, jwt.MapClaims{"exp": soon}), ""},
		"jwt expired":     {signed, sign(jwt.SigningMethodHS256, secret, jwt.MapClaims{"exp": past}), "expired websocket jwt"},
		"jwt without exp": {signed, sign(jwt.SigningMethodHS256, secret, jwt.MapClaims{}), "invalid websocket jwt"},
		"jwt other key":   {signed, sign(jwt.SigningMethodHS256, []byte("x"), jwt.MapClaims{"exp": soon}), "invalid websocket jwt"},
		"jwt HS512":       {signed, sign(jwt.SigningMethodHS512, secret, jwt.MapClaims{"exp": soon}), "invalid websocket jwt"},
		"jwt none":        {signed, sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, jwt.MapClaims{"exp": soon}), "invalid websocket jwt"},
		"jwt claims":      {strict, sign(jwt.SigningMethodHS256, secret, jwt.MapClaims{"exp": soon, "iss": "me", "aud": "you"}), ""},
		"jwt other iss":   {strict, sign(jwt.SigningMethodHS256, secret, jwt.MapClaims{"exp": soon, "iss": "he", "aud": "you"}), "websocket jwt issuer mismatch"},
		"jwt no aud":      {strict, sign(jwt.SigningMethodHS256, secret, jwt.MapClaims{"exp": soon, "iss": "me"}), "websocket jwt audience mismatch"},
		"jwt garbage":     {signed, "Bearer a.b.c", "invalid websocket jwt"},
		"jwt missing":     {signed, "", "missing websocket bearer token"},
	} {
		r := &http.Request{Header: http.Header{}}
		if c.head != "" {
			r.Header.Set("Authorization", c.head)
		}
		if got := c.a.check(r); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestWrongOptionsAreRefused(t *testing.T) {
	for name, o := range map[string]Options{
		"name":         {Listen: "ws://localhost:0"},
		"scheme":       {Listen: "tcp://127.0.0.1:0"},
		"relative":     {Listen: "unix://x.sock"},
		"auth, stdio":  {Listen: "stdio", Auth: Auth{JWTSecret: make([]byte, 32)}},
		"short secret": {Auth: Auth{JWTSecret: []byte("short")}},
		"no hash":      {Auth: Auth{TokenSHA256: "xyz"}},
		"both":         {Auth: Auth{TokenSHA256: "00", JWTSecret: make([]byte, 32)}},
	} {
		if s, err := New(o); err == nil {
			t.Errorf("%s was taken", name)
			_ = s.Discard()
		}
	}
	for _, listen := range []string{"ws://0.0.0.0:0", "ws://[::]:0"} {
		if s, err := New(Options{Listen: listen}); !errors.Is(err, ErrExposed) {
			t.Errorf("%s: %v", listen, err)
			if err == nil {
				_ = s.Discard()
			}
		}
	}
	if _, _, err := (Options{Listen: "ws://0.0.0.0:0", Exposed: true}).withDefaults(); err != nil {
		t.Error(err)
	}
}
