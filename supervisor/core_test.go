package supervisor

import (
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
)

// TestCoreOfASpec holds that a spec keeps every field that package actors has of a
// host, there and back.
func TestCoreOfASpec(t *testing.T) {
	c := hostspec.Spec{Protocol: native.New(), Init: 1}
	fill(reflect.ValueOf(&c).Elem())
	if got := (HostSpec{}).with(c).core(); !reflect.DeepEqual(got, c) {
		t.Errorf("%+v\nwant %+v", got, c)
	}
}

// fill gives a zero value another one.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(time.Second) + int64(os.Getpid()))
	case reflect.Float64:
		v.SetFloat(2)
	case reflect.String:
		v.SetString("x")
	}
}
