package install

import (
	"os"
	"runtime"
)

// Here returns the platform of this machine by VS Code's name for it, such as "linux-x64" or
// "alpine-arm64"; "" if VS Code has none.
func Here() string {
	_, err := os.Stat("/etc/alpine-release")
	return platform(runtime.GOOS, runtime.GOARCH, err == nil)
}

func platform(system, processor string, alpine bool) string {
	name, ok := map[string]string{"linux": "linux", "darwin": "darwin", "windows": "win32"}[system]
	arch, known := map[string]string{"amd64": "x64", "arm64": "arm64", "arm": "armhf"}[processor]
	if !ok || !known || processor == "arm" && system != "linux" {
		return ""
	}
	if alpine && system == "linux" {
		name = "alpine"
	}
	return name + "-" + arch
}
