package config

import (
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
)

// questionHeader is a block of an extensions block: how questions of extensions are answered.
var questionHeader = hcl.BlockHeaderSchema{Type: "question", LabelNames: []string{"text"}}

func questionSection(q *vscode.QuestionRule) section {
	return section{
		name: "question", doc: "How a question of extensions to their user is answered whose text matches the pattern, in which * stands for any text; the first block that matches counts. It is dismissed without answer.",
		settings: []setting{
			named("extension", "id of the extension that asks, which VS Code tells for messages alone: another question is that of the only extension that is active in its host, and matches no such block if several are; default: all", extensionIDOf(&q.Extension)),
			named("answer", "the label of an item, the text of an input box, or the absolute path for a dialog", answerText(q)),
		},
	}
}

// questions reads the question blocks of a host's extensions.
func (r *reader) questions(body hcl.Body, d *hostDecl) {
	blocks := labeledOf(body, questionHeader)
	for _, b := range blocks {
		q := vscode.QuestionRule{Text: strings.Join(strings.Fields(b.Labels[0]), " "), Dismiss: true}
		r.section(b.Body, b.DefRange, questionSection(&q))
		if q.Text == "" {
			r.fail(b.LabelRanges[0], "no text", "Write a pattern of the text of the question, such as %q.", "Install * now?")
			continue
		}
		d.extensions.editor.questions.Rules = append(d.extensions.editor.questions.Rules, q)
	}
	if d.protocol != plan.VSCode && len(blocks) > 0 {
		r.fail(blocks[0].DefRange, `block "question" has no meaning here`, "It is for the extensions of hosts with protocol = %q. Remove it.", plan.VSCode)
	}
}

// answerText reads an answer, which may be empty.
func answerText(q *vscode.QuestionRule) setting {
	const expect = "a string"
	return setting{expect: expect,
		read: func(g given) {
			s, ok := g.str(expect)
			switch {
			case !ok:
			case strings.ContainsRune(s, 0):
				g.bad("It contains a NUL character.")
			default:
				q.Answer, q.Dismiss = s, false
			}
		},
		show: func() string { return "" },
	}
}

// extensionIDOf reads one id.
func extensionIDOf(dst *string) setting {
	return setting{expect: idForm,
		read: func(g given) {
			if text, ok := g.str(idForm); ok {
				*dst, _ = g.extensionID(g.rng, text)
			}
		},
		show: func() string { return *dst },
	}
}
