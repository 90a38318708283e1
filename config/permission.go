package config

import (
	"path/filepath"
	"strconv"

	"github.com/hostsup/hostsup/intercept/guard"
)

// permissions reads names of permissions. An empty list grants none.
func permissions(dst *[]string) setting {
	const expect = `a list of permissions such as "fileSystem.read"`
	return setting{expect: expect,
		read: func(g given) {
			elems, ok := g.elements(expect, "")
			if !ok {
				return
			}
			list := make([]string, 0, len(elems))
			for _, e := range elems {
				name, ok := e.str(`a permission such as "fileSystem.read"`)
				if !ok {
					continue
				}
				if _, err := guard.ParsePermission(name); err != nil {
					e.bad("%s", sentence(err))
					continue
				}
				list = append(list, name)
			}
			*dst = list
		},
		show: func() string { return showStrings(*dst) },
	}
}

func rateLimit(dst **guard.Rate) setting {
	const expect = `a rate such as "100/s"`
	return setting{expect: expect,
		read: func(g given) {
			text, ok := g.str(expect)
			if !ok {
				return
			}
			r, err := guard.ParseRate(text)
			if err != nil {
				g.bad("%s", sentence(err))
				return
			}
			*dst = &r
		},
		show: func() string {
			if *dst == nil {
				return ""
			}
			return strconv.Quote((*dst).String())
		},
	}
}

// folders reads absolute paths of existing folders.
func folders(dst *[]string) setting {
	const expect = "a list of absolute paths of folders"
	return setting{expect: expect,
		read: func(g given) {
			elems, ok := g.elements(expect, "")
			if !ok {
				return
			}
			list := make([]string, 0, len(elems))
			for _, e := range elems {
				path, ok := e.str("an absolute path")
				switch {
				case !ok:
				case !filepath.IsAbs(path):
					e.bad("%q is not an absolute path.", path)
				default:
					if e.isMissing(path) {
						e.fail(e.rng, "folder does not exist", "There is no %s, so no path can be below it.", path)
						continue
					}
					list = append(list, path)
				}
			}
			*dst = list
		},
		show: func() string { return showStrings(*dst) },
	}
}

// checksums reads SHA-256 checksums.
func checksums(dst *[]string) setting {
	const expect = "a list of SHA-256 checksums, each 64 hex digits"
	return setting{expect: expect, required: true,
		read: func(g given) {
			elems, ok := g.elements(expect, "")
			if !ok {
				return
			}
			list := make([]string, 0, len(elems))
			for _, e := range elems {
				sum, ok := e.str("64 hex digits")
				if !ok {
					continue
				}
				if err := guard.CheckDigest(sum); err != nil {
					e.bad("%s", sentence(err))
					continue
				}
				list = append(list, sum)
			}
			if len(elems) == 0 {
				g.bad("It is empty: no program could start.")
			}
			*dst = list
		},
		show: func() string { return showStrings(*dst) },
	}
}
