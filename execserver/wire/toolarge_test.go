package wire

import "testing"

func TestRequestID(t *testing.T) {
	for beginning, want := range map[string]string{
		`{"id":7,"method":"fs/writeFile","params":{"data":"xxx`:    "7",
		`{"method":"m","params":{"id":3},"id":"a","trace":null,`:   `"a"`,
		` { "trace" : {"id":1} , "id" : -4 , "method" : "m" , "pa`: "-4",
		`{"id":7,"params":{"data":"xxx`:                            "", // it may be an answer
		`{"method":"m","id":12`:                                    "", // it may go on
		`{"method":"m","params":{"id":3,`:                          "",
		`{"id":1.5,"method":"m",`:                                  "",
		`[{"id":1,"method":"m"`:                                    "",
		``:                                                         "",
		`{`:                                                        "",
		`{"id":7,"method":"m"}`:                                    "7",
	} {
		id, ok := RequestID([]byte(beginning), nil)
		if got := string(id.AppendJSON(nil)); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %s %v", beginning, got, ok)
		}
	}
	for _, c := range []struct{ beginning, end, want string }{
		{`{"method":"m","params":{"data":"xxx`, `xxx"},"id":7}`, "7"},
		{`{"params":{"data":"xxx`, `xxx"} , "id" : "a" , "method" : "m" } `, `"a"`},
		{`{"params":{"data":"xxx`, `xxx"},"method":"m","trace":{"id":1},"id":-4}`, "-4"},
		{`{"id":7,"params":{"data":"xxx`, `xxx"},"method":"m"}`, "7"},
		{`{"id":7,"result":{"data":"xxx`, `xxx"}}`, ""}, // an answer
		{`{"result":{"data":"xxx`, `xxx"},"id":7}`, ""},
		{`{"method":"m","params":{"data":"xxx`, `xxx","id":7}}`, ""}, // of the params
		{`{"method":"m","params":{"data":"xxx`, `,\"id\":7}"}}`, ""}, // within a string
		{`{"method":"m","params":{"data":"xxx`, `xxx"},"id":7`, ""},
		{`{"method":"m","params":{"data":"xxx`, `xxx"},"id":1.5}`, ""},
		{`{"method":"m","params":{"data":"xxx`, ``, ""},
	} {
		id, ok := RequestID([]byte(c.beginning), []byte(c.end))
		if got := string(id.AppendJSON(nil)); ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%s…%s: %s %v", c.beginning, c.end, got, ok)
		}
	}
	if limit, ok := TooLarge(1 << 20).TooLargeLimit(); !ok || limit != 1<<20 {
		t.Error(limit, ok)
	}
	if _, ok := InvalidRequest("something else").TooLargeLimit(); ok {
		t.Error("something else is taken for it")
	}
}
