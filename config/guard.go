package config

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Bounds of a file. A parser that recurses into nested brackets, and an evaluator
// that recurses into a long sum, end the process on a megabyte of either; files
// written by people stay far below.
const (
	maxFile   = 1 << 20 // bytes
	maxNested = 256     // brackets around a position, and operators before it in the same expression
	maxDigits = 64      // characters of a number
	maxExp    = 308     // decimal exponent of a number
)

// MaxHosts is how many hosts a configuration has at most, in all of its files. A for_each
// could make any number.
const MaxHosts = 10_000

// screen reports what must not reach the parser: invalid UTF-8, unbounded nesting,
// numbers whose decimal form would fill the memory.
func screen(src []byte, filename string) hcl.Diagnostics {
	_, diags := scan(src, filename)
	return diags
}

// scan is screen; it also returns the brackets that are open at the end.
func scan(src []byte, filename string) ([]level, hcl.Diagnostics) {
	if at := invalidUTF8(src); at >= 0 {
		return nil, hcl.Diagnostics{encodingError(src, at, filename)}
	}
	tokens, _ := hclsyntax.LexConfig(src, filename, hcl.InitialPos) // the parser reports invalid ones
	var depth nesting
	for _, t := range tokens {
		if t.Type == hclsyntax.TokenNumberLit && numberTooLarge(t.Bytes) {
			return nil, hcl.Diagnostics{{
				Severity: hcl.DiagError, Subject: t.Range.Ptr(), Summary: "number out of range",
				Detail: "A number has at most " + strconv.Itoa(maxDigits) + " characters and an exponent up to " + strconv.Itoa(maxExp) + ".",
			}}
		}
		if depth.add(t) > maxNested {
			return nil, hcl.Diagnostics{{
				Severity: hcl.DiagError, Subject: t.Range.Ptr(), Summary: "nested too deep",
				Detail: "Brackets and operators may be nested " + strconv.Itoa(maxNested) + " deep. Take the expression apart with locals.",
			}}
		}
	}
	return depth.levels, nil
}

// syntax makes the diagnostics of the parser shorter and more exact. The parser
// reports one mistake several times per line, and an unclosed string only at the end
// of the file.
func syntax(diags hcl.Diagnostics, unclosed []level) hcl.Diagnostics {
	var out hcl.Diagnostics
	lines, last := map[int]bool{}, ""
	for _, d := range diags {
		if d.Subject != nil {
			if lines[d.Subject.Start.Line] || (d.Summary == last && d.Summary == "Invalid multi-line string") {
				continue
			}
			lines[d.Subject.Start.Line] = true
		}
		last = d.Summary
		if d.Summary == "Unterminated template string" {
			for _, l := range unclosed {
				if l.open == hclsyntax.TokenOHeredoc {
					d.Subject = l.at.Ptr()
					d.Subject.End = d.Subject.Start
					d.Detail = "No line with only the closing marker was found for this heredoc."
				}
			}
		}
		out = append(out, d)
	}
	return out
}

// nesting bounds the depth of the syntax tree at a token from above. Within each
// open bracket it counts the operators, calls and indexes since the last separator,
// because each can be the parent of the one before or after it.
type nesting struct {
	levels []level
	total  int
}

type level struct {
	open  hclsyntax.TokenType
	at    hcl.Range
	count int
	any   bool // it is not empty
	loop  bool // { for … }: a new line is not a separator
}

func (n *nesting) add(tok hclsyntax.Token) int {
	t := tok.Type
	if t == hclsyntax.TokenComment && bytes.HasSuffix(tok.Bytes, []byte("\n")) {
		t = hclsyntax.TokenNewline // a comment that ends with its line is both
	}
	if len(n.levels) == 0 {
		n.levels = []level{{open: hclsyntax.TokenNil}}
	}
	top := &n.levels[len(n.levels)-1]
	if t != hclsyntax.TokenNewline && t != hclsyntax.TokenComment && !top.any {
		top.any = true
		top.loop = t == hclsyntax.TokenIdent && string(tok.Bytes) == "for"
	}
	switch t {
	case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenOQuote,
		hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
		n.levels = append(n.levels, level{open: t, at: tok.Range})
		n.total++
	case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCQuote,
		hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
		if len(n.levels) == 1 {
			break
		}
		n.total -= 1 + top.count
		n.levels = n.levels[:len(n.levels)-1]
		// f(x)(y), a[0][0] and %{if a}%{if b} nest although they follow each other;
		// "${a}${b}" does not.
		if top.open != hclsyntax.TokenTemplateInterp {
			n.levels[len(n.levels)-1].count++
			n.total++
		}
	case hclsyntax.TokenComma:
		n.total -= top.count
		top.count = 0
	case hclsyntax.TokenNewline:
		if len(n.levels) == 1 || (top.open == hclsyntax.TokenOBrace && !top.loop) {
			n.total -= top.count
			top.count = 0
		}
	case hclsyntax.TokenIdent, hclsyntax.TokenNumberLit, hclsyntax.TokenQuotedLit, hclsyntax.TokenStringLit,
		hclsyntax.TokenComment, hclsyntax.TokenEqual, hclsyntax.TokenEOF:
	default: // operators, dots, colons, and invalid tokens
		top.count++
		n.total++
	}
	return n.total
}

func numberTooLarge(lit []byte) bool {
	if len(lit) > maxDigits {
		return true
	}
	i := bytes.IndexAny(lit, "eE")
	if i < 0 {
		return false
	}
	exp, err := strconv.Atoi(string(lit[i+1:]))
	return err != nil || exp > maxExp || exp < -maxExp
}

// invalidUTF8 returns the offset of the first byte that is not UTF-8, or -1.
func invalidUTF8(src []byte) int {
	for i := 0; i < len(src); {
		r, n := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

func encodingError(src []byte, at int, filename string) *hcl.Diagnostic {
	line := 1 + bytes.Count(src[:at], []byte{'\n'})
	col := 1 + utf8.RuneCount(src[bytes.LastIndexByte(src[:at], '\n')+1:at])
	d := &hcl.Diagnostic{
		Severity: hcl.DiagError, Summary: "file is not UTF-8",
		Detail: "Byte 0x" + strconv.FormatUint(uint64(src[at]), 16) + " is not part of a character. Save the file as UTF-8.",
		Subject: &hcl.Range{
			Filename: filename,
			Start:    hcl.Pos{Line: line, Column: col, Byte: at},
			End:      hcl.Pos{Line: line, Column: col + 1, Byte: at + 1},
		},
	}
	if at == 0 && (bytes.HasPrefix(src, []byte{0xff, 0xfe}) || bytes.HasPrefix(src, []byte{0xfe, 0xff})) {
		d.Detail = "It looks like UTF-16. Save the file as UTF-8."
	}
	return d
}
