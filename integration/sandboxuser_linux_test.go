//go:build linux

package integration

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/internal/require"
)

// A write grant holds for files of other groups than the folder's: its owner may
// write them, and a user that the policy names has the groups of that user. What
// that user may not write outside stays as it is.
func TestFilesOfOtherGroups(t *testing.T) {
	confinable(t)
	if os.Getuid() != 0 {
		require.Privilege(t, "only root can make files of other users and groups")
	}
	const member, other, team = ordinary, ordinary + 1, ordinary + 2
	const script = `for f in work/own work/team work/other shared/team shared/new; do
	if { echo more >> $f; } 2>/dev/null; then echo -n "$f "; fi; done
cat private 2>/dev/null
[ "$(cat rest/group 2>/dev/null)" ] && echo "files of a group are read"
exit 0`
	for _, c := range []struct {
		as, user, env string
		says          string
		maker         int // of shared/new
	}{
		{"root", "auto", "", "work/own shared/new private\n", 0},
		{"root", "member", "", "work/own work/team shared/team shared/new private\n", member},
		{"root", "caller", fmt.Sprintf("SUDO_UID=%d", member), "work/own work/team shared/team shared/new private\n", member},
		{"user", "", "", "work/own work/team shared/team shared/new private\nfiles of a group are read\n", member},
	} {
		t.Run(c.as+" "+c.user, func(t *testing.T) {
			t.Parallel()
			dir := place(t, 0)
			for _, f := range []struct {
				name     string
				uid, gid int
				mode     os.FileMode
			}{
				{"work", member, member, os.ModeDir | 0o755}, {"work/own", member, team, 0o644}, {"work/team", other, team, 0o664}, {"work/other", other, other, 0o644},
				{"shared", 0, team, os.ModeDir | 0o775}, {"shared/team", other, team, 0o664},
				{"private", member, member, 0o600}, {"rest", 0, 0, os.ModeDir | 0o755}, {"rest/group", other, team, 0o640},
			} {
				path := filepath.Join(dir, f.name)
				create := func() error { return os.WriteFile(path, []byte(f.name+"\n"), 0o600) }
				if f.mode.IsDir() {
					create = func() error { return os.Mkdir(path, 0o700) }
				}
				if err := errors.Join(create(), os.Chown(path, f.uid, f.gid), os.Chmod(path, f.mode.Perm())); err != nil {
					t.Fatal(err)
				}
			}
			policy := fmt.Sprintf("sandbox {\n  profile = \"strict\"\n  level   = \"no-cgroup\"\n  user    = %q\n  read    = [\"private\", \"rest\"]\n  write   = [\"work\", \"shared\"]\n}\n", c.user)
			if c.user == "" {
				policy = strings.Replace(policy, "  user    = \"\"\n", "", 1)
			}
			run := []string{hostsupBinary(t), "sandbox", "run", "--quiet", "--policy", written(t, dir, "policy.hcl", policy), "--dir", dir, "--", "/bin/sh", "-c", script}
			if err := os.Chmod(filepath.Join(dir, "policy.hcl"), 0o644); err != nil {
				t.Fatal(err)
			}
			// Of a machine with that user and its groups.
			accounts := written(t, dir, "passwd", fmt.Sprintf("root:x:0:0::/:/bin/sh\nmember:x:%d:%[1]d::/:/bin/sh\n", member))
			groups := written(t, dir, "groups", fmt.Sprintf("root:x:0:member\nteam:x:%d:member\n", team))
			machine := []string{"unshare", "--mount", "sh", "-ec", `mount --bind "$0" /etc/passwd; mount --bind "$1" /etc/group; shift; exec "$@"`, accounts, groups}
			if c.as == "user" {
				machine = []string{"setpriv", "--reuid", fmt.Sprint(member), "--regid", fmt.Sprint(member), "--groups", fmt.Sprint(team), "--"}
			}
			argv := append(machine, run...)
			cmd := exec.CommandContext(ctx(t), peer(t, argv[0]), argv[1:]...)
			cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", c.env}
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			if err := cmd.Run(); err != nil || out.String() != c.says || errs.Len() > 0 {
				t.Errorf("%v: %q, want %q: %s", err, out.Bytes(), c.says, errs.Bytes())
			}
			st, err := os.Stat(filepath.Join(dir, "shared/new"))
			if err != nil {
				t.Fatal(err)
			}
			if uid := int(st.Sys().(*syscall.Stat_t).Uid); uid != c.maker {
				t.Errorf("what it makes is of %d, want %d", uid, c.maker)
			}
		})
	}
}
