package sys

import (
	"encoding/binary"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/require"
)

func TestParseAudit(t *testing.T) {
	msg := make([]byte, 16, 64)
	binary.NativeEndian.PutUint16(msg[4:], AuditLandlockAccess)
	msg = append(msg, "audit(1.2:3): domain=1 blockers=ptrace\x00"...)
	if r := parseAudit(msg); r.Type != AuditLandlockAccess || r.Text != "audit(1.2:3): domain=1 blockers=ptrace" {
		t.Errorf("%+v", r)
	}
	if r := parseAudit(msg[:15]); r != (AuditRecord{}) {
		t.Errorf("%+v", r)
	}
}

func TestAuditIsAskedAndRead(t *testing.T) {
	on, err := AuditEnabled()
	if err != nil {
		require.Privilege(t, "the audit subsystem: %v", err)
	}
	f, err := OpenAudit()
	if err != nil {
		require.Privilege(t, "the audit subsystem: %v", err)
	}
	defer f.Close()
	// Setting the present value causes a record only if audit is on; reading must end
	// with Close in any case.
	if err := SetAuditEnabled(on); err != nil {
		t.Error(err)
	}
	if again, err := AuditEnabled(); err != nil || again != on {
		t.Error(again, err)
	}
	_ = f.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	buf := make([]byte, 16<<10)
	for err = nil; err == nil; {
		_, _, err = ReadAudit(f, buf)
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
}
