package netproxy_test

import (
	"fmt"
	"net"

	"github.com/hostsup/hostsup/sandbox/allow"
	"github.com/hostsup/hostsup/sandbox/netproxy"
)

func ExampleNew() {
	rules, err := allow.Parse([]string{"db.example:5432"})
	if err != nil {
		fmt.Println(err)
		return
	}
	refused := make(chan netproxy.Attempt, 1)
	proxy := netproxy.New(rules, func(a netproxy.Attempt) { refused <- a })
	defer proxy.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() { _ = proxy.Serve(l) }()

	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	fmt.Fprint(client, "CONNECT mail.example:25 HTTP/1.1\r\n\r\n")
	a := <-refused
	fmt.Println(a.Host, a.Port, a.Reason)
	// Output: mail.example 25 not in the allow list
}
