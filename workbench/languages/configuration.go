package languages

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/hostsup/hostsup/workbench/settings/model"
)

// Configuration is what the configuration files of a language say.
type Configuration struct {
	LineComment  string      // "": the language has none
	BlockComment [2]string   // begin and end; empty: the language has none
	Brackets     [][2]string // pairs
	// Words matches a word. It is VS Code's default unless the language has its own that package
	// regexp has.
	Words *regexp.Regexp
	// OffSide says that blocks are what is indented, without an end of their own.
	OffSide bool
	// FoldStart and FoldEnd match lines that begin and end a region; nil: the language has none, or one
	// that package regexp has not.
	FoldStart, FoldEnd *regexp.Regexp
}

// defaultWords is the word pattern of VS Code for languages without their own.
var defaultWords = regexp.MustCompile("(-?\\d*\\.\\d\\w*)|([^`~!@#$%^&*()\\-=+\\[{\\]}\\\\|;:'\",.<>/?\\s]+)")

// Configuration reads the configuration of a language. If several extensions configure it, the last
// to name a part wins. The error is about files that cannot be read; what is in the others is
// returned with it. A language without files has the defaults.
func (r *Registry) Configuration(language string) (Configuration, error) {
	c := Configuration{Words: defaultWords}
	if language == PlainText { // as VS Code has it without an extension
		c.Brackets, c.OffSide = [][2]string{{"(", ")"}, {"[", "]"}, {"{", "}"}}, true
	}
	var errs []error
	for _, file := range r.files[language] {
		parts, err := model.Read(file)
		if err == nil {
			err = c.add(parts)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("configuration of language %s: %w", language, err))
		}
	}
	return c, errors.Join(errs...)
}

// add adds what a file says. Parts with another form than VS Code's are left out.
func (c *Configuration) add(parts map[string]any) error {
	text, err := json.Marshal(parts)
	if err != nil {
		return err
	}
	var in struct {
		Comments struct {
			Line  json.RawMessage `json:"lineComment"`
			Block json.RawMessage `json:"blockComment"`
		} `json:"comments"`
		Brackets json.RawMessage `json:"brackets"`
		Words    json.RawMessage `json:"wordPattern"`
		Folding  json.RawMessage `json:"folding"`
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	var line struct {
		Comment string `json:"comment"`
	}
	if json.Unmarshal(in.Comments.Line, &line.Comment) == nil || json.Unmarshal(in.Comments.Line, &line) == nil {
		c.LineComment = line.Comment
	}
	if pairs := pairsOf([]byte("[" + string(in.Comments.Block) + "]")); len(pairs) == 1 {
		c.BlockComment = pairs[0]
	}
	if pairs := pairsOf(in.Brackets); pairs != nil {
		c.Brackets = pairs
	}
	var words struct {
		Pattern string `json:"pattern"`
		Flags   string `json:"flags"`
	}
	if json.Unmarshal(in.Words, &words.Pattern) == nil || json.Unmarshal(in.Words, &words) == nil {
		if re, err := regexp.Compile(words.Pattern); err == nil && words.Pattern != "" && !re.MatchString("") {
			c.Words = re
		}
	}
	c.addFolding(in.Folding)
	return nil
}

func (c *Configuration) addFolding(raw json.RawMessage) {
	var in struct {
		OffSide bool `json:"offSide"`
		Markers struct {
			Start string `json:"start"`
			End   string `json:"end"`
		} `json:"markers"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &in) != nil {
		return
	}
	c.OffSide, c.FoldStart, c.FoldEnd = in.OffSide, nil, nil
	start, err := regexp.Compile(in.Markers.Start)
	end, err2 := regexp.Compile(in.Markers.End)
	if errors.Join(err, err2) == nil && in.Markers.Start != "" && in.Markers.End != "" {
		c.FoldStart, c.FoldEnd = start, end
	}
}

func pairsOf(raw []byte) (out [][2]string) {
	var all []json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	for _, one := range all {
		var p []string
		if json.Unmarshal(one, &p) == nil && len(p) == 2 {
			out = append(out, [2]string{p[0], p[1]})
		}
	}
	return out
}
