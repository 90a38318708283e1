//go:build !hostsup_posix

package sandbox

import (
	"encoding/binary"
	"reflect"
)

// What the Launcher tells a helper that confines, and what that says on top of
// the reports of the others.
const (
	roleConfine role = 'p' // payload: a plan; descriptors from 4 on: the command's, then plan.procs

	reportProblem  = 'w' // a step of the plan failed: exit.Code bytes that name it follow
	reportListener = 'l' // a listening socket comes with it, in the order of plan.Listen
	reportObserver = 'o' // the descriptor of the observing filter comes with it
)

// How a command is started.
const (
	planSelf   = iota // by the Launcher itself: there is no helper
	planInit          // by a helper that stays as pid 1 of the namespace
	planReaper        // by a helper that stays as the reaper of the command's orphans
	planTry           // not at all: everything before is tried
)

// plan is everything a helper needs to know. The Launcher decides; the helper
// carries out.
type plan struct {
	Mode    int
	Unshare int // namespaces to leave first; with one of mounts, Mounts make the new root
	Proc    bool

	Path, Dir string
	Args, Env []string
	Files     int  // of the command
	Groups    int  // open cgroup.procs files the command puts itself into
	Blank     bool // then comes a user namespace that maps nobody's ids

	Mounts    []mountOp
	RootAttrs uint64 // of the new root
	Loopback bool
	Listen   []string // loopback addresses to listen on, in the order in which they are handed out
	Memfd    bool     // executable memory files are switched off in the pid namespace

	UID, GID int  // -1: as they are
	UserNS   bool // the command gets a user namespace that knows only UID and GID
	Caps     bool // the command gives up what capabilities it could have

	Landlock    int // version; 0: none
	LandlockNet bool
	Audit       bool
	Rules       []landlockRule

	NoNewPrivs bool
	NoJIT      bool
	Filter     []uint64
	Observer   []uint64
	Limits     []rlimit
}

type landlockRule struct {
	Path   string
	Rights uint64
}

type rlimit struct {
	Resource int
	Value    uint64
}

// mountOp is one step in the making of the new root.
type mountOp struct {
	Kind  int
	Path  string // in the new root, without the leading slash
	From  string // opBind: a path outside; opLink: the text; opCover: a path in the new root
	Attrs uint64
	UID   int // opBind: the owner outside who is shown as plan.UID; -1: none is
	GID   int
	Size  int64 // opTmpfs, bytes
	Nodes int64
	Mode  int
	What  string // names the step in errors; "" for those that say it by themselves
	Loose bool   // only to be read: nothing is written to, not even a socket
}

const (
	opDir   = iota // make a folder
	opFile         // make an empty file
	opLink         // make a symbolic link
	opBind         // show a path from outside
	opTmpfs        // a file system in memory
	opProc         // /proc
	opPin          // make a folder one that cannot be renamed
	opCover        // show another path of the new root
	opText         // make a file with From in it
	opDevice       // make a character device with the number Size
)

// pack and unpack carry structs of numbers, strings and lists of them over the
// helper's socket. Both ends are the same binary, so there is no version and
// no name in it.
func pack(v any) []byte { return packValue(nil, reflect.ValueOf(v).Elem()) }

func packValue(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return append(b, 1)
		}
		return append(b, 0)
	case reflect.Int, reflect.Int64:
		return binary.AppendVarint(b, v.Int())
	case reflect.Uint64:
		return binary.AppendUvarint(b, v.Uint())
	case reflect.String:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		return append(b, v.String()...)
	case reflect.Slice:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		if words, ok := v.Interface().([]uint64); ok {
			for _, w := range words {
				b = binary.LittleEndian.AppendUint64(b, w)
			}
			return b
		}
		for i := range v.Len() {
			b = packValue(b, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			b = packValue(b, v.Field(i))
		}
	}
	return b
}

// unpack fills *v from what pack made of one.
func unpack(b []byte, v any) error {
	u := unpacker{b: b}
	u.value(reflect.ValueOf(v).Elem())
	if u.bad || len(u.b) > 0 {
		return errOrder
	}
	return nil
}

type unpacker struct {
	b   []byte
	bad bool
}

func (u *unpacker) uvarint() uint64 {
	n, size := binary.Uvarint(u.b)
	return n & u.took(size)
}

// took moves on; its mask is zero when there was nothing.
func (u *unpacker) took(size int) uint64 {
	if size <= 0 {
		u.bad, u.b = true, nil
		return 0
	}
	u.b = u.b[size:]
	return ^uint64(0)
}

// length is that of a list or string, never more than there are bytes.
func (u *unpacker) length() int {
	n := u.uvarint()
	if n > uint64(len(u.b)) {
		u.bad, u.b = true, nil
		return 0
	}
	return int(n)
}

func (u *unpacker) words(n int) []uint64 {
	if n > len(u.b)/8 {
		u.bad, u.b = true, nil
		return nil
	}
	var words []uint64
	for range n {
		words = append(words, binary.LittleEndian.Uint64(u.b))
		u.b = u.b[8:]
	}
	return words
}

func (u *unpacker) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		if len(u.b) == 0 {
			u.bad = true
			return
		}
		v.SetBool(u.b[0] == 1)
		u.b = u.b[1:]
	case reflect.Int, reflect.Int64:
		n, size := binary.Varint(u.b)
		u.took(size)
		v.SetInt(n)
	case reflect.Uint64:
		v.SetUint(u.uvarint())
	case reflect.String:
		n := u.length()
		v.SetString(string(u.b[:n]))
		u.b = u.b[n:]
	case reflect.Slice:
		n := u.length()
		if words, ok := v.Addr().Interface().(*[]uint64); ok {
			*words = u.words(n)
			return
		}
		if n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
		}
		for i := 0; i < n && !u.bad; i++ {
			u.value(v.Index(i))
		}
	case reflect.Struct:
		for i := 0; i < v.NumField() && !u.bad; i++ {
			u.value(v.Field(i))
		}
	}
}
