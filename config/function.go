package config

import (
	"strings"

	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// functions returns the functions that expressions can call. None reads a file, the
// clock or a random number: the same file means the same each time it is read. Only
// env depends on the environment.
func functions(lookupEnv func(string) (string, bool)) map[string]function.Function {
	return map[string]function.Function{
		"env": envFunc(lookupEnv),
		"try": tryfunc.TryFunc,
		"can": tryfunc.CanFunc,

		secretFuncName: secretFunc,

		// strings
		"chomp":        stdlib.ChompFunc,
		"endswith":     affixFunc("suffix", strings.HasSuffix),
		"format":       stdlib.FormatFunc,
		"formatlist":   stdlib.FormatListFunc,
		"indent":       stdlib.IndentFunc,
		"join":         stdlib.JoinFunc,
		"lower":        stdlib.LowerFunc,
		"regex":        stdlib.RegexFunc,
		"regexall":     stdlib.RegexAllFunc,
		"regexreplace": stdlib.RegexReplaceFunc,
		"replace":      stdlib.ReplaceFunc,
		"split":        stdlib.SplitFunc,
		"startswith":   affixFunc("prefix", strings.HasPrefix),
		"strlen":       stdlib.StrlenFunc,
		"strrev":       stdlib.ReverseFunc,
		"substr":       stdlib.SubstrFunc,
		"title":        stdlib.TitleFunc,
		"trim":         stdlib.TrimFunc,
		"trimprefix":   stdlib.TrimPrefixFunc,
		"trimspace":    stdlib.TrimSpaceFunc,
		"trimsuffix":   stdlib.TrimSuffixFunc,
		"upper":        stdlib.UpperFunc,

		// lists, sets and maps
		"chunklist":       stdlib.ChunklistFunc,
		"coalesce":        stdlib.CoalesceFunc,
		"coalescelist":    stdlib.CoalesceListFunc,
		"compact":         stdlib.CompactFunc,
		"concat":          stdlib.ConcatFunc,
		"contains":        stdlib.ContainsFunc,
		"distinct":        stdlib.DistinctFunc,
		"element":         stdlib.ElementFunc,
		"flatten":         stdlib.FlattenFunc,
		"keys":            stdlib.KeysFunc,
		"length":          lengthFunc,
		"lookup":          stdlib.LookupFunc,
		"merge":           stdlib.MergeFunc,
		"range":           stdlib.RangeFunc,
		"reverse":         stdlib.ReverseListFunc,
		"setintersection": stdlib.SetIntersectionFunc,
		"setproduct":      stdlib.SetProductFunc,
		"setsubtract":     stdlib.SetSubtractFunc,
		"setunion":        stdlib.SetUnionFunc,
		"slice":           stdlib.SliceFunc,
		"sort":            stdlib.SortFunc,
		"values":          stdlib.ValuesFunc,
		"zipmap":          stdlib.ZipmapFunc,

		// numbers
		"abs":      stdlib.AbsoluteFunc,
		"ceil":     stdlib.CeilFunc,
		"floor":    stdlib.FloorFunc,
		"max":      stdlib.MaxFunc,
		"min":      stdlib.MinFunc,
		"parseint": stdlib.ParseIntFunc,
		"pow":      stdlib.PowFunc,
		"signum":   stdlib.SignumFunc,

		// from one form to another
		"jsonencode": stdlib.JSONEncodeFunc,
		"tobool":     toFunc(cty.Bool, "true or false"),
		"tolist":     toFunc(cty.List(cty.DynamicPseudoType), "a list"),
		"tomap":      toFunc(cty.Map(cty.DynamicPseudoType), "a map"),
		"tonumber":   toFunc(cty.Number, "a number"),
		"toset":      toFunc(cty.Set(cty.DynamicPseudoType), "a set"),
		"tostring":   toFunc(cty.String, "a string"),
	}
}

// envFunc implements env("NAME") and env("NAME", "default"). An unset variable
// without a default is an error: the host would find an empty string much later.
func envFunc(lookup func(string) (string, bool)) function.Function {
	return function.New(&function.Spec{
		Description: "The value of an environment variable of the supervisor.",
		Params:      []function.Parameter{{Name: "name", Type: cty.String}},
		VarParam:    &function.Parameter{Name: "default", Type: cty.String, AllowNull: true},
		Type:        function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if len(args) > 2 {
				return cty.NilVal, function.NewArgErrorf(2, "env takes a name and at most one default")
			}
			name := args[0].AsString()
			if v, ok := lookup(name); ok {
				return cty.StringVal(v), nil
			}
			if len(args) == 2 {
				return args[1], nil
			}
			return cty.NilVal, function.NewArgErrorf(0, "the environment has no %s; env(%q, \"…\") gives it a default", name, name)
		},
	})
}

func affixFunc(what string, has func(s, affix string) bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "str", Type: cty.String}, {Name: what, Type: cty.String}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.BoolVal(has(args[0].AsString(), args[1].AsString())), nil
		},
	})
}

// lengthFunc returns the number of elements, or of characters of a string.
var lengthFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType}},
	Type: func(args []cty.Value) (cty.Type, error) {
		t := args[0].Type()
		if t == cty.String || t.IsTupleType() || t.IsObjectType() || t.IsCollectionType() {
			return cty.Number, nil
		}
		return cty.Number, function.NewArgErrorf(0, "a string, list, set or map is needed")
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if args[0].Type() == cty.String {
			return stdlib.Strlen(args[0])
		}
		return cty.NumberIntVal(int64(args[0].LengthInt())), nil
	},
})

func toFunc(want cty.Type, name string) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "v", Type: cty.DynamicPseudoType, AllowNull: true, AllowDynamicType: true}},
		Type: func(args []cty.Value) (cty.Type, error) {
			if args[0].Type().Equals(want) {
				return want, nil
			}
			v, err := convert.Convert(args[0], want)
			if err != nil {
				return want, function.NewArgErrorf(0, "%s cannot be made into %s: %s", kindOf(args[0]), name, err)
			}
			return v.Type(), nil
		},
		Impl: func(args []cty.Value, t cty.Type) (cty.Value, error) {
			v, err := convert.Convert(args[0], t)
			if err != nil {
				return cty.NilVal, function.NewArgErrorf(0, "%s cannot be made into %s: %s", kindOf(args[0]), name, err)
			}
			return v, nil
		},
	})
}
