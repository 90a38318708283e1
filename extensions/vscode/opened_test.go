package vscode

import (
	"encoding/binary"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/vscode/persistent"
)

// What is said in the opening of a host, and under which id we call it then.
const (
	methodReady         = "ready"
	methodInitialized   = "initialized"
	methodInit          = "init"
	methodConfiguration = "ExtHostConfiguration.$initializeConfiguration"
	methodWorkspace     = "ExtHostWorkspace.$initializeWorkspace"
	openingID           = 1
)

// Types of messages on the wire.
const (
	rpcAck   = 5
	rpcEmpty = 7
)

// opened is a session with the actors of bundle.
func opened(t testing.TB, lim codec.Limits, change ...func(*Options)) codec.Session {
	t.Helper()
	opt := Options{Root: fakeBuild(t, product, bundle), State: "/state"}
	for _, f := range change {
		f(&opt)
	}
	if _, err := ReadBuild(opt.Root); err != nil {
		t.Fatal(err)
	}
	return New(opt).Open(lim)
}

// framed puts a header in front of data.
func framed(data string) string {
	return string(persistent.Header{Type: persistent.Regular, Length: uint32(len(data))}.Append(nil)) + data
}

// head is the type and the id of an RPC message, long is a text behind its length.
func head(kind byte, id uint32) string {
	return string(binary.BigEndian.AppendUint32([]byte{kind}, id))
}

func long(s string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(s)))) + s
}
