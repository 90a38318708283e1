package vscode

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
)

// initData returns the init data of a host. Fields of Hello.Init replace those with the
// same name. The descriptions are those of the extensions in the data. keepsLogs means that the
// editor takes what the host writes into logs and output channels.
func (o *Options) initData(b *Build, h codec.Hello, w *Present, keepsLogs bool) (init codec.Raw, descriptions []json.RawMessage, err error) {
	ext, err := o.extensions(h.Host)
	if err != nil {
		return nil, nil, fmt.Errorf("extensions of host %q: %w", h.Host, err)
	}
	state, logs := o.state(h.Host), fileURI(o.logs(h.Host))
	if keepsLogs {
		logs["scheme"] = logScheme
	}
	data := map[string]any{
		"version":   b.Version,
		"parentPid": h.PID, // the host ends with this process; 0: with none
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
		"logLevel": logInfo, "loggers": []any{}, "logsLocation": logs,
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
	if w != nil {
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

// described returns the descriptions of the extensions in init data.
func described(ext any) ([]json.RawMessage, error) {
	raw, err := jsonrpc.Encoding{}.Marshal(ext)
	if err != nil {
		return nil, fmt.Errorf("extensions: %w", err)
	}
	var data struct {
		All []json.RawMessage `json:"allExtensions"`
	}
	_ = json.Unmarshal(raw, &data) // the host reports what is wrong
	return data.All, nil
}

// logScheme is the scheme of the folder for logs that an editor keeps: the host sends them to its
// editor, and the path is still where extensions put their own files.
const logScheme = "vscode-log"

const (
	logInfo   = 3 // the log level of the host and its extensions
	uiDesktop = 1
)

// over replaces fields of data with those of init.
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
