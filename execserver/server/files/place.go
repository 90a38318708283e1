package files

import (
	"path/filepath"
	"strings"

	"github.com/hostsup/hostsup/execserver/wire"
)

// native is a path of a request on this system. A request that comes with a
// sandbox object is refused: who confines takes the object out, see [Decode].
func native(sb *wire.SandboxContext, uri wire.URI) (string, *wire.Error) {
	path, bad := uri.Native()
	if bad == nil && sb != nil {
		bad = wire.InvalidRequest("sandboxed file access is not available on this server")
	}
	return path, bad
}

// join is the path of an entry of a folder. It cleans nothing: a .. may come
// after a link.
func join(dir, name string) string {
	if strings.HasSuffix(dir, "/") {
		return dir + name
	}
	return dir + string(filepath.Separator) + name
}
