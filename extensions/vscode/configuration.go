package vscode

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/hostsup/hostsup/codec"
	wire "github.com/hostsup/hostsup/codec/vscode"
	"github.com/hostsup/hostsup/workbench/settings/model"
)

// MethodReconfigured notifies a host of a change of its configuration; see
// [Protocol.Reconfigured].
const MethodReconfigured = wire.MethodReconfigured

// Configuration returns the params of ExtHostConfiguration.$initializeConfiguration: the
// defaults that the extensions with these descriptions contribute, overridden by those of
// the options, and the user's settings. An error is about [Options.SettingsFile]. Changes
// are sent with the params that [Protocol.Reconfigured] returns.
func (p *Protocol) Configuration(descriptions []json.RawMessage) (codec.Raw, error) {
	return p.opt.configuration(descriptions)
}

func (o *Options) configuration(descriptions []json.RawMessage) (codec.Raw, error) {
	settings := map[string]any{}
	if o.SettingsFile != "" {
		var err error
		if settings, err = ReadSettings(o.SettingsFile); err != nil {
			return nil, err
		}
	}
	maps.Copy(settings, o.Settings)
	data := model.NewData()
	data.Defaults, data.UserLocal = o.defaults(descriptions), model.New(settings)
	return json.Marshal([]any{data})
}

// defaults returns the default settings of a host with these extensions.
func (o *Options) defaults(descriptions []json.RawMessage) model.Model {
	defaults := model.Contributions(descriptions).Defaults
	maps.Copy(defaults, o.Defaults)
	return model.New(defaults)
}

// ReadSettings reads a settings file: a JSON object, which may have comments and trailing
// commas.
func ReadSettings(path string) (map[string]any, error) { return model.Read(path) }

// Reconfigured returns the params of [MethodReconfigured] for a host whose extensions have
// changed to those of the descriptions, or nil if its configuration stays the same. last
// has the params that were sent last, with this method or $initializeConfiguration; the
// user's settings are taken from there, and no file is read. An error means that last has
// another form.
func (p *Protocol) Reconfigured(last codec.Raw, descriptions []json.RawMessage) (codec.Raw, error) {
	var args []map[string]json.RawMessage
	var before, now model.Model
	if err := json.Unmarshal(last, &args); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	if len(args) == 0 || args[0]["defaults"] == nil {
		return nil, fmt.Errorf("configuration without defaults: %.40q", last)
	}
	if err := json.Unmarshal(args[0]["defaults"], &before); err != nil {
		return nil, fmt.Errorf("configuration: defaults: %w", err)
	}
	raw, err := json.Marshal(p.opt.defaults(descriptions))
	if err != nil {
		return nil, fmt.Errorf("configuration: defaults: %w", err)
	}
	if err := json.Unmarshal(raw, &now); err != nil { // so that both have the types of JSON
		return nil, err
	}
	c := model.Differences(before, now)
	if len(c.Keys) == 0 {
		return nil, nil
	}
	args[0]["defaults"] = raw
	return json.Marshal([]any{args[0], c})
}
