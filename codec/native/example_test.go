package native_test

import (
	"bytes"
	"fmt"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
)

// A supervisor's session opens a connection and makes a call; a host's
// answers. The buffers stand for the two directions of a stream.
func Example() {
	var toHost, toSupervisor bytes.Buffer

	// The supervisor opens.
	sup := native.New().Open(codec.Limits{})
	fromHost := sup.NewReader(&toSupervisor)
	opening := sup.Handshake(codec.Hello{Supervisor: "hostsup", Version: "0.1.0", Host: "ts", Life: 1})
	out, _ := opening.Start()
	write(sup, &toHost, out)

	// The host accepts.
	host := native.Open(codec.Limits{})
	accept := host.Accept(native.Self{Name: "demo", Version: "1.0", Caps: codec.CapAck | codec.CapPing})
	fromSupervisor := host.NewReader(&toHost)
	var m codec.Message
	check(fromSupervisor.Next(&m))
	out, _, err := accept.Handle(&m)
	check(err)
	write(host, &toSupervisor, out)

	// The supervisor reads the answer, says so, and calls.
	check(fromHost.Next(&m))
	out, done, err := opening.Handle(&m)
	check(err)
	fmt.Println("supervisor:", done, opening.Peer().Name, sup.Ping())
	write(sup, &toHost, append(out, codec.Message{Kind: codec.Request, ID: 2, Method: "echo", Params: codec.Raw{0xc3}}))

	// The host is open too, and answers.
	check(fromSupervisor.Next(&m))
	_, done, err = accept.Handle(&m)
	check(err)
	check(fromSupervisor.Next(&m))
	fmt.Println("host:", done, accept.Opening().Host, m.Kind, m.ID, m.Method)
	write(host, &toSupervisor, []codec.Message{{Kind: codec.Response, ID: m.ID, Result: m.Params}})

	check(fromHost.Next(&m))
	text, err := native.New().ToJSON(m.Result)
	fmt.Println("answer:", m.ID, string(text), err)
	// Output:
	// supervisor: true demo $/ping
	// host: true ts request 2 echo
	// answer: 2 true <nil>
}

func write(s codec.Session, to *bytes.Buffer, out []codec.Message) {
	for i := range out {
		frame, err := s.Append(nil, &out[i])
		check(err)
		to.Write(frame)
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
