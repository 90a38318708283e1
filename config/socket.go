package config

import (
	"bytes"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Socket returns the absolute path of the control socket that the file at path names, or
// "" if it names none. It reads nothing else: whatever is wrong with the rest of the
// file, a supervisor that runs can be found. The diagnostics say why the path is not
// known.
func Socket(path string, opts Options) (string, hcl.Diagnostics) {
	src, why := readFile(path)
	if why == noSuchFile {
		why += nameOne
	}
	if why != "" {
		return "", hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "cannot read " + path, Detail: why}}
	}
	expr, diags := socketOf(src, path)
	socket, units := "", []unit{{name: path, src: src}}
	if expr != nil && !diags.HasErrors() {
		socket, units, diags = socketValue(units, opts, expr)
	}
	return socket, finish(diags, units)
}

// socketValue returns the value of an expression in the only one of the units, and the units that it read for it.
func socketValue(units []unit, opts Options, expr hclsyntax.Expression) (string, []unit, hcl.Diagnostics) {
	src, filename := units[0].src, units[0].name
	full, opts := opts.complete(filename)
	r := newReader(opts)
	r.folders = map[string]string{}
	if len(expr.Variables()) > 0 {
		// What can be read of a broken file is enough, if the value follows from it.
		file, _ := hclsyntax.ParseConfig(src, filename, hcl.InitialPos)
		if body, ok := file.Body.(*hclsyntax.Body); ok {
			blocks := r.content(body, rootSchema).Blocks
			if attr := body.Attributes["include"]; attr != nil {
				for _, u := range r.included(attr.AsHCLAttribute(), filename, full) {
					units = append(units, u)
					if u.body != nil {
						blocks = append(blocks, r.content(u.body, rootSchema).Blocks...)
					}
				}
			}
			kinds := blocks.ByType()
			r.variables(kinds["variable"], opts.Vars, opts.LookupEnv)
			r.localValues(kinds["locals"])
		}
	}
	v, ok := r.eval(expr)
	if !ok {
		return "", units, r.diags
	}
	socket := ""
	r.diags = nil // of what it does not need
	if !v.IsNull() {
		path(&socket, checkSocket).read(given{reader: r, name: "socket", expr: expr, rng: expr.Range(), val: v})
	}
	return socket, units, r.diags
}

// socketOf returns the value of supervisor.socket, or nil if it is not set. It looks at
// words and braces only, which a mistake elsewhere leaves as they are.
func socketOf(src []byte, filename string) (hclsyntax.Expression, hcl.Diagnostics) {
	if expr, diags := socketIn(src, filename, hcl.InitialPos); expr != nil || diags.HasErrors() {
		return expr, diags
	}
	if _, diags := hclsyntax.ParseConfig(src, filename, hcl.InitialPos); !diags.HasErrors() {
		return nil, nil
	}
	// A string that is not closed hides what follows.
	pos := hcl.InitialPos
	for line := range bytes.Lines(src) {
		if bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("supervisor")) {
			if expr, diags := socketIn(src[pos.Byte:], filename, pos); expr != nil || diags.HasErrors() {
				return expr, diags
			}
		}
		pos.Byte, pos.Line = pos.Byte+len(line), pos.Line+1
	}
	return nil, nil
}

// socketIn is socketOf for the end of a file, which starts at pos.
func socketIn(src []byte, filename string, pos hcl.Pos) (hclsyntax.Expression, hcl.Diagnostics) {
	tokens, _ := hclsyntax.LexConfig(src, filename, pos) // mistakes are tokens, too
	depth := 0                                           // of braces in the supervisor block; 0: not in it
	for i := range tokens {
		next := tokens[min(i+1, len(tokens)-1)]
		begins := i == 0 || tokens[i-1].Type == hclsyntax.TokenNewline || tokens[i-1].Type == hclsyntax.TokenComment
		word := ""
		if tokens[i].Type == hclsyntax.TokenIdent {
			word = string(tokens[i].Bytes)
		}
		switch {
		case depth == 0 && begins && word == "supervisor" && next.Type == hclsyntax.TokenOBrace:
			depth = 1
			tokens[i+1].Type = hclsyntax.TokenNewline // what follows begins a line
		case depth == 1 && begins && word == "socket" && next.Type == hclsyntax.TokenEqual:
			return valueAt(src, filename, pos, tokens[i+2:])
		case depth > 0:
			depth += opening(tokens[i].Type)
		}
	}
	return nil, nil
}

// valueAt parses the expression that begins with the first token and ends with its line.
func valueAt(src []byte, filename string, pos hcl.Pos, tokens hclsyntax.Tokens) (hclsyntax.Expression, hcl.Diagnostics) {
	depth, end := 0, 0
	for _, t := range tokens {
		ends := t.Type == hclsyntax.TokenNewline || t.Type == hclsyntax.TokenComment || t.Type == hclsyntax.TokenEOF
		if depth == 0 && ends || depth+opening(t.Type) < 0 {
			break
		}
		depth += opening(t.Type)
		end = t.Range.End.Byte
	}
	start := tokens[0].Range.Start
	return hclsyntax.ParseExpression(src[start.Byte-pos.Byte:max(start.Byte, end)-pos.Byte], filename, start)
}

// opening is 1 for a token that opens something, -1 for one that closes it, else 0.
func opening(t hclsyntax.TokenType) int {
	switch t {
	case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
		return 1
	case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenTemplateSeqEnd:
		return -1
	}
	return 0
}
