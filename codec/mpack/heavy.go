package mpack

import (
	"reflect"
	"sync"
)

// heavy says whether values of type t can take memory out of proportion to
// the elements they are decoded from: whether an any or a map is in it.
func heavy(t reflect.Type) bool {
	if known, is := heavyTypes.Load(t); is {
		return known.(bool)
	}
	is := findHeavy(t, map[reflect.Type]bool{})
	heavyTypes.Store(t, is)
	return is
}

// heavyTypes remembers the answer for each type that was decoded into, a
// number the program's source bounds.
var heavyTypes sync.Map

func findHeavy(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface, reflect.Map:
		return true
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return findHeavy(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if findHeavy(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}
