package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/hostsup/hostsup/bench/measure"
	"github.com/hostsup/hostsup/sandbox/allow"
	"github.com/hostsup/hostsup/sandbox/netproxy"
)

const proxied = 1 << 30 // bytes

// proxyFigures are nanoseconds for all of the bytes.
type proxyFigures struct{ Direct, Through float64 }

func proxySection(opt options) (*report, error) {
	var direct, through []float64
	for range min(opt.rounds, 5) {
		f, err := hire[proxyFigures]("proxy")
		if err != nil {
			return nil, err
		}
		direct, through = append(direct, f.Direct), append(through, f.Through)
	}
	r := &report{
		title: "1 GiB through the proxy of an allow-list",
		head:  []string{"who", "time", "MB/s", "of direct"},
	}
	for _, who := range []struct {
		name string
		took []float64
	}{{"by the proxy", through}, {"direct", direct}} {
		m := measure.Median(who.took)
		r.row(who.name, millis(m), fmt.Sprintf("%.0f", proxied/1e6/(m/1e9)), times(measure.Ratio(direct, who.took)))
	}
	r.note("loopback, one connection, %d rounds in turns", len(direct))
	r.targets = []target{{
		what: "proxy", ours: millis(measure.Median(through)), peer: "direct loopback " + millis(measure.Median(direct)),
		figure: measure.Ratio(direct, through), limit: 0.5, least: true, unit: " ×",
	}}
	return r, nil
}

// proxyWorker takes the bytes from a server once directly and once by CONNECT.
func proxyWorker([]string) (f proxyFigures, err error) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return f, err
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		pour(server)
	}()
	defer func() {
		err = errors.Join(err, server.Close())
		<-served
	}()
	addr := server.Addr().String()
	rules, err := allow.Parse([]string{addr})
	if err != nil {
		return f, err
	}
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return f, err
	}
	p := netproxy.New(rules, nil)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		_ = p.Serve(front) // Close ends it
	}()
	defer func() {
		err = errors.Join(err, p.Close())
		<-stopped
	}()

	c, err := net.Dial("tcp", addr)
	if err != nil {
		return f, err
	}
	if f.Direct, err = drain(c, c); err != nil {
		return f, err
	}
	if c, err = net.Dial("tcp", front.Addr().String()); err != nil {
		return f, err
	}
	if _, err := fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", addr); err != nil {
		return f, errors.Join(err, c.Close())
	}
	head := bufio.NewReaderSize(c, 4096)
	for lines := 0; ; lines++ {
		line, err := head.ReadString('\n')
		if err != nil {
			return f, errors.Join(err, c.Close())
		}
		if lines == 0 && len(line) < 12 || lines == 0 && line[9:12] != "200" {
			return f, errors.Join(fmt.Errorf("the proxy says %q", line), c.Close())
		}
		if line == "\r\n" {
			break
		}
	}
	f.Through, err = drain(c, io.MultiReader(io.LimitReader(head, int64(head.Buffered())), c))
	return f, err
}

// pour writes all the bytes to whoever connects.
func pour(l net.Listener) {
	buf := make([]byte, 256<<10)
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		for left := proxied; left > 0; {
			n, err := c.Write(buf[:min(left, len(buf))])
			if err != nil {
				break
			}
			left -= n
		}
		_ = c.Close() // what arrived is counted
	}
}

// drain reads r to its end and returns how long that took.
func drain(c net.Conn, r io.Reader) (float64, error) {
	defer c.Close()
	buf := make([]byte, 256<<10)
	start, n := time.Now(), 0
	for {
		m, err := r.Read(buf)
		n += m
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, err
		}
	}
	if n != proxied {
		return 0, fmt.Errorf("%d bytes arrived of %d", n, proxied)
	}
	return float64(time.Since(start)), nil
}
