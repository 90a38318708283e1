package evidence

import (
	"encoding/json"
	"strings"
	"testing"
)

// The tokens below are made of parts, so that no scanner takes this file for a leak.
var tokens = []string{
	"ghp_" + strings.Repeat("a1B2", 9), "github_pat_" + strings.Repeat("a1B2_", 8), "glpat-" + strings.Repeat("x", 20),
	"AKIA" + strings.Repeat("A7", 8), "xoxb-" + "123456789012-abcdefABCDEF", "AIza" + strings.Repeat("Sy-", 12),
	"sk-" + strings.Repeat("a1", 20), "sk-ant-api03-" + strings.Repeat("a1", 20), "sk_live_" + strings.Repeat("a1", 12),
	"npm_" + strings.Repeat("a1", 18), "pypi-" + strings.Repeat("Ag", 30), "hf_" + strings.Repeat("aB", 17),
	"eyJhbGciOiJIUzI1" + ".eyJzdWIiOiIxMjM0" + ".c2lnbmF0dXJl", "AGE-SECRET-KEY-1" + strings.Repeat("QP", 20),
}

func TestTokensAreTakenOut(t *testing.T) {
	for _, token := range tokens {
		for _, text := range []string{token, "using " + token + " now", `{"a":"` + token + `"}`, "x=" + token} {
			if got := Scrub(text); strings.Contains(got, token) || !strings.Contains(got, label) {
				t.Errorf("%s: %s", text, got)
			}
		}
	}
}

func TestCredentialsAreTakenOutByTheirPlace(t *testing.T) {
	const value = `hunter2-hunter2`
	for _, text := range []string{
		"Authorization: Bearer " + value, "authorization: Basic " + value, `{"Authorization":"Bearer ` + value + `"}`,
		`"{\"authorization\": \"token ` + value + `\"}"`, "Proxy-Authorization: " + value, "Cookie: session=" + value,
		`{"password":"` + value + `"}`, `{"client_secret" : "` + value + `"}`, `{"apiKey":"` + value + `"}`, `{"token":"` + value + `"}`,
		"GITHUB_TOKEN=" + value, "--password=" + value, "https://acme.test/?access_token=" + value + "&x=1", "https://ada:" + value + "@acme.test/x",
		"-----BEGIN RSA PRIVATE KEY-----\n" + value + "\n-----END RSA PRIVATE KEY-----",
	} {
		if got := Scrub(text); strings.Contains(got, value) || !strings.Contains(got, label) {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func TestScrubbedJSONStaysJSON(t *testing.T) {
	for _, token := range tokens {
		doc, err := json.Marshal(map[string]any{
			"token": token + `"\`, "text": "Authorization: Bearer " + token + "\n\"quoted\"", "nested": `{"password":"` + token + `"}`,
			"list": []string{"Cookie: a=" + token, "key=" + token}, "n": 12.5,
		})
		if err != nil {
			t.Fatal(err)
		}
		got := Scrub(string(doc))
		if !json.Valid([]byte(got)) || strings.Contains(got, token) {
			t.Errorf("%s\nbecame\n%s", doc, got)
		}
	}
}

// TestFormsWithinEscapes has forms that begin with the letter of an escape.
func TestFormsWithinEscapes(t *testing.T) {
	token := tokens[0]
	for _, text := range []string{`{"a":"x\npm_` + strings.Repeat("a1", 18) + `"}`, `{"a":"Authorization:\ufffdx","password":"` + token + `","b":["\rk_live_` + strings.Repeat("a1", 12) + `"],"n":1.50}`} {
		if got := Scrub(text); !json.Valid([]byte(got)) || strings.Contains(got, token) {
			t.Errorf("%s\nbecame\n%s", text, got)
		}
	}
}

func TestOrdinaryTextsStay(t *testing.T) {
	for _, text := range []string{
		"", "TypeError: cannot read properties of undefined", `{"method":"tokenize","tokens":[1,2,3],"token":5}`, `{"jsonrpc":"2.0","id":1}`,
		"the key was not found", "https://acme.test/a/b?c=d", "authorized by ada", `{"textDocument":{"uri":"file:///srv/keys.ts"}}`, "bearer of news",
	} {
		if got := Scrub(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestSecretValuesAreToldByNames(t *testing.T) {
	got := secretValues(map[string]string{
		"GITHUB_TOKEN": "value-of-token", "API_KEY": "value-of-key", "NODE_ENV": "production", "PATH": "/usr/bin:/bin",
		"USE_AUTH": "true", "AUTH": "value-of-auth", "TOKEN_FILE": "/run/token", "KEYBOARD": "german-layout", "DB_PASSWORD": "value-of-password",
	})
	if want := "value-of-password value-of-token value-of-auth value-of-key"; strings.Join(got, " ") != want {
		t.Errorf("%q; expected %q", got, want)
	}
}

func FuzzScrubKeepsJSON(f *testing.F) {
	for _, token := range tokens {
		f.Add("Authorization: Bearer "+token, token)
	}
	f.Add(`password`, `"\`)
	f.Fuzz(func(t *testing.T, a, b string) {
		doc, err := json.Marshal(map[string]string{a: b, "authorization": a, "x": b + "=" + a})
		if err != nil {
			t.Skip()
		}
		if got := Scrub(string(doc)); !json.Valid([]byte(got)) {
			t.Errorf("%s\nbecame\n%s", doc, got)
		}
	})
}
