package wire

import (
	"bytes"
	"encoding/json"
	"testing"
)

// What is written without reflection must be what the structs say.
func TestAppendedNotificationsAreTheStructs(t *testing.T) {
	id := "a\"\\\n\x01é\U0001f600"
	quoted := AppendString(nil, id)
	read := func(b []byte, method string, into any) {
		t.Helper()
		m, err := Decode(b)
		if err != nil || m.Kind != KindNotification || m.Method != method {
			t.Fatalf("%s: %+v, %v", b, m, err)
		}
		if err := json.Unmarshal(m.Params, into); err != nil {
			t.Fatal(err)
		}
	}
	var out ProcessOutput
	read(AppendOutput(nil, quoted, 7, PTY, []byte{0, 255, 1}), NotifyProcessOutput, &out)
	if out.ProcessID != id || out.Seq != 7 || out.Stream != PTY || !bytes.Equal(out.Chunk, []byte{0, 255, 1}) {
		t.Errorf("%+v", out)
	}
	var exited ProcessExited
	read(AppendExited(nil, quoted, 8, -3, true), NotifyProcessExited, &exited)
	if exited.ProcessID != id || exited.Seq != 8 || exited.ExitCode != -3 || exited.SandboxDenied == nil || !*exited.SandboxDenied {
		t.Errorf("%+v", exited)
	}
	var closed ProcessClosed
	read(AppendClosed(nil, quoted, 9), NotifyProcessClosed, &closed)
	if closed.ProcessID != id || closed.Seq != 9 {
		t.Errorf("%+v", closed)
	}
	reason := "error decoding response body"
	var delta HTTPBodyDelta
	read(AppendBodyDelta(nil, &HTTPBodyDelta{RequestID: id, Seq: 2, Delta: []byte("x"), Done: true, Error: &reason}), NotifyHTTPBodyDelta, &delta)
	if delta.RequestID != id || delta.Seq != 2 || string(delta.Delta) != "x" || !delta.Done || *delta.Error != reason {
		t.Errorf("%+v", delta)
	}
}

func TestAppendAnswers(t *testing.T) {
	for _, r := range []any{Empty{}, &FSReadFileResult{Data: []byte("x")}, &FSReadBlockResult{Chunk: nil, EOF: true}, &EnvironmentStatus{Status: "ready"}} {
		b, err := AppendResult(nil, TextID("q\""), r)
		if err != nil || !json.Valid(b) {
			t.Fatalf("%s, %v", b, err)
		}
		m, err := Decode(b)
		if err != nil || m.Kind != KindResult || m.ID != TextID("q\"") {
			t.Errorf("%+v, %v", m, err)
		}
	}
	m, err := Decode(AppendError(nil, IntID(5), NotFound("no `%s`", "x\n")))
	if err != nil || m.Kind != KindError || m.Err.Code != CodeNotFound || m.Err.Message != "no `x\n`" {
		t.Errorf("%+v, %v", m, err)
	}
}

func BenchmarkAppendOutput(b *testing.B) {
	data := bytes.Repeat([]byte("x"), ChunkBytes)
	id := []byte(`"12345-34e7332b-1cd0-4477-a023-4e42ec980de0"`)
	buf := make([]byte, 0, 16<<10)
	b.SetBytes(ChunkBytes)
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendOutput(buf[:0], id, 12345, Stdout, data)
	}
}

func BenchmarkDecodeStart(b *testing.B) {
	in := []byte(`{"id":17,"method":"process/start","params":{"processId":"37451-34e7332b","argv":["/bin/true"],"cwd":"file:///srv","env":{"NO_COLOR":"1","TERM":"dumb"},"tty":false,"pipeStdin":false,"arg0":null,"sandbox":null}}`)
	b.ReportAllocs()
	for b.Loop() {
		m, err := Decode(in)
		if err != nil {
			b.Fatal(err)
		}
		var p ProcessStartParams
		if err := DecodeParams(m.Params, &p, false); err != nil {
			b.Fatal(err)
		}
	}
}
