package wire

// InitializeParams begin a connection.
type InitializeParams struct {
	ClientName      string  `json:"clientName" wire:"required"`
	ResumeSessionID *string `json:"resumeSessionId"`
	// Extensions are those that the client knows, or ExtAll; see Extension names.
	Extensions []string `json:"extensions,omitempty"`
}

// InitializeResult answers initialize.
type InitializeResult struct {
	SessionID       string          `json:"sessionId"`
	EnvironmentInfo EnvironmentInfo `json:"environmentInfo"`
	Extensions      []string        `json:"extensions,omitempty"` // those in force
}

// EnvironmentInfo describes where commands run.
type EnvironmentInfo struct {
	Shell                Shell        `json:"shell"`
	ExecutorVersion      string       `json:"executorVersion"`
	ProviderID           string       `json:"providerId,omitempty"`
	Cwd                  URI          `json:"cwd,omitempty"`
	UserHomeDir          URI          `json:"userHomeDir,omitempty"`
	PlatformOS           string       `json:"platformOs,omitempty"`
	PrependPathDirs      []URI        `json:"prependPathDirs"`
	TemporaryDirectories []URI        `json:"temporaryDirectories"`
	TempDir              URI          `json:"tempDir,omitempty"`
	Capabilities         Capabilities `json:"capabilities"`
}

// Shell is the shell of the user that commands run as.
type Shell struct {
	Name string `json:"name" wire:"required"`
	Path string `json:"path" wire:"required"`
}

// Capabilities are what a server can beyond the basic methods. Clients avoid
// what is false.
type Capabilities struct {
	NetworkProxyLaunch                          bool `json:"networkProxyLaunch"`
	NetworkProxyReviewDomains                   bool `json:"networkProxyReviewDomains"`
	CredentialMasking                           bool `json:"credentialMasking"`
	CredentialMaskingCustomProviders            bool `json:"credentialMaskingCustomProviders"`
	CapabilityDiscoverySandbox                  bool `json:"capabilityDiscoverySandbox"`
	FSWatchMissing                              bool `json:"fsWatchMissing"`
	CapabilityDiscoveryV2                       bool `json:"capabilityDiscoveryV2"`
	EnvironmentConfigRead                       bool `json:"environmentConfigRead"`
	HTTPHeaderEnvVars                           bool `json:"httpHeaderEnvVars"`
	SandboxedFileStreaming                      bool `json:"sandboxedFileStreaming"`
	FileWriteStreaming                          bool `json:"fileWriteStreaming"`
	ShellSnapshotV2                             bool `json:"shellSnapshotV2"`
	WindowsMXC                                  bool `json:"windowsMxc"`
	LinuxRootWritePreservesDevices              bool `json:"linuxRootWritePreservesDevices"`
	LinuxApprovedRootWritePreservesRestrictions bool `json:"linuxApprovedRootWritePreservesRestrictions"`
}

// EnvironmentStatus answers environment/status.
type EnvironmentStatus struct {
	Status string `json:"status"` // "ready"
}
