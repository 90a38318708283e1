package vscode

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
)

// initData is what a host is told at its start. The fields of Hello.Init take
// the place of those of the same name. The descriptions are those of the
// extensions in it.
func (o *Options) initData(b *Build, h codec.Hello) (init codec.Raw, descriptions []json.RawMessage, err error) {
	ext, err := o.extensions(h.Host)
	if err != nil {
		return nil, nil, fmt.Errorf("extensions of host %q: %w", h.Host, err)
	}
	state := o.state(h.Host)
	data := map[string]any{
		"version":   b.Version,
		"parentPid": h.PID, // whose end is the host's; 0: nobody's
		"environment": map[string]any{
			"isExtensionDevelopmentDebug": false,
			"appName":                     h.Supervisor, "appHost": "desktop", "appRoot": fileURI(b.Root), "appLanguage": "en",
			"isExtensionTelemetryLoggingOnly": true, "appUriScheme": h.Supervisor,
			"globalStorageHome":    fileURI(filepath.Join(state, "globalStorage")),
			"workspaceStorageHome": fileURI(filepath.Join(state, "workspaceStorage")),
			"extensionLogLevel":    []any{}, "isPortable": false, "isSessionsWindow": false,
		},
		"workspace":  nil,
		"extensions": ext,
		"telemetryInfo": map[string]any{
			"sessionId": fmt.Sprintf("%s.%d", h.Host, h.Life), "machineId": h.Supervisor, "sqmId": "", "devDeviceId": "",
			"firstSessionDate": "", "msftInternal": false,
		},
		"logLevel": logInfo, "loggers": []any{}, "logsLocation": fileURI(o.logs(h.Host)),
		"autoStart":      true,
		"remote":         map[string]any{"isRemote": false, "authority": nil, "connectionData": nil},
		"consoleForward": map[string]any{"includeStack": false, "logNative": false},
		"uiKind":         uiDesktop,
	}
	for key, value := range map[string]string{"commit": b.Commit, "quality": b.Quality, "date": b.Date} {
		if value != "" {
			data[key] = value
		}
	}
	if w := o.Workspace; w != nil {
		data["workspace"] = w.static()
	}
	if err := over(data, h.Init); err != nil {
		return nil, nil, err
	}
	descriptions, err = described(data["extensions"])
	if err != nil {
		return nil, nil, err
	}
	init, err = jsonrpc.Encoding{}.Marshal(data)
	return init, descriptions, err
}

// described are the descriptions of the extensions in init data.
func described(ext any) ([]json.RawMessage, error) {
	raw, err := jsonrpc.Encoding{}.Marshal(ext)
	if err != nil {
		return nil, fmt.Errorf("extensions: %w", err)
	}
	var told struct {
		All []json.RawMessage `json:"allExtensions"`
	}
	_ = json.Unmarshal(raw, &told) // the host says what is wrong with it
	return told.All, nil
}

const (
	logInfo   = 3 // the level from which on the host and its extensions log
	uiDesktop = 1
)

// over puts the fields of init over those of data.
func over(data map[string]any, init any) error {
	if init == nil {
		return nil
	}
	raw, err := jsonrpc.Encoding{}.Marshal(init)
	if err != nil {
		return fmt.Errorf("init: %w", err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return fmt.Errorf("init: an object expected, %.24q", raw)
	}
	for key, value := range fields {
		data[key] = value
	}
	return nil
}
