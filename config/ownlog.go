package config

// ownLog checks the settings of the supervisor's own log that depend on each other.
func (r *reader) ownLog(l *Log, p places) {
	if l.File != "" {
		if at, ok := p.at["log.to"]; ok && l.To != LogToAuto && p.sound("log.to") {
			r.fail(at, "the log has two places", "With file the log goes there. Leave out to, or file.")
		}
		return
	}
	if _, ok := p.at["log.file"]; ok { // it is not valid
		return
	}
	d := defaultFile().Log
	for _, s := range []struct {
		name  string
		unset bool
	}{
		{"max_size", l.MaxSize == d.MaxSize}, {"files", l.Files == d.Files}, {"rotate_every", l.RotateEvery == 0}, {"max_age", l.MaxAge == 0}, {"compress", !l.Compress},
	} {
		if at, ok := p.at["log."+s.name]; ok && !s.unset {
			r.fail(at, s.name+" without file", "%s is about the file of the log. Name one with file, or leave it out.", s.name)
		}
	}
}
