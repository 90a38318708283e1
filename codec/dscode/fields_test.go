package dscode

import (
	"encoding/json"
	"testing"

	"github.com/hostsup/hostsup/codec"
)

// However a value is written, it is found where it ends.
func TestTakeApart(t *testing.T) {
	for _, payload := range []string{
		`1`, `-1.5e+9`, `true`, `"a"`, `""`, `"\""`, `"\\"`, `"}]\",{["`, `[]`, `{}`, `[[],{}]`, `{"a":{"b":["}",{"c":"]"}]}}`,
		`{"id":"inner","type":"inner","payload":"inner"}`, `[1 , 2 ]`, `"\ud800"`,
	} {
		for _, body := range []string{
			`{"id":"i","type":"t","payload":` + payload + `}`,
			`{"payload":` + payload + `,"type":"t","id":"i"}`,
			" {\n\"id\" : \"i\" ,\t\"payload\" :\r" + payload + " , \"type\" : \"t\" } ",
			`{"a":` + payload + `,"id":"i","x":[` + payload + `],"type":"t","payload":` + payload + `,"ids":"no","paylo\"ad":2}`,
		} {
			f, err := takeApart([]byte(body), codec.Limits{})
			if err != nil || f.id != "i" || f.kind != "t" || string(f.payload) != payload {
				t.Errorf("%s: %+v, %v", body, f, err)
			}
		}
	}
}

func FuzzTakeApart(f *testing.F) {
	f.Add([]byte(`{"id":"i","type":"t","payload":{"a":["}",1]}}`))
	f.Add([]byte(` {"\u0069d":"\"","type" : "t\\" ,"payload" : -0.0e1 } `))
	f.Add([]byte(`{"payload":null,"x":[[[{}]]],"id":"","type":"a"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := takeApart(body, codec.Limits{})
		if err != nil {
			return
		}
		var want struct {
			ID      *string         `json:"id"`
			Type    *string         `json:"type"`
			Payload json.RawMessage `json:"payload"`
		}
		var keys map[string]json.RawMessage
		if err := json.Unmarshal(body, &keys); err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		// The other decoder also takes keys in other letters.
		for key := range keys {
			if key != "id" && key != "type" && key != "payload" {
				return
			}
		}
		if err := json.Unmarshal(body, &want); err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		if got.id != *want.ID || got.kind != *want.Type {
			t.Errorf("%q: %+v", body, got)
		}
		if p := string(want.Payload); p != string(got.payload) && !(p == "null" && got.payload == nil) {
			t.Errorf("%q: payload %q, want %q", body, got.payload, p)
		}
	})
}
