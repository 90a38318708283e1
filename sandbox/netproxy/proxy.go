package netproxy

import (
	"net/netip"
	"time"
)

// Attempt is one try to reach something through a [Proxy].
type Attempt struct {
	Time     time.Time      `json:"time"`
	Protocol string         `json:"protocol"` // "connect", "http", "socks5" or "forward"; "" when it never got that far
	Host     string         `json:"host"`     // as asked for, a name in lower case or an address; "" when it never got that far
	Port     uint16         `json:"port"`     // 0 when it never got that far
	Addr     netip.AddrPort `json:"addr"`     // what was dialled; zero when nothing was
	Allowed  bool           `json:"allowed"`  // by the list and the check of the address
	Reason   string         `json:"reason"`   // why it was refused or failed; "" when it is connected
	Entry    string         `json:"entry"`    // what in the list would allow it; "" when it is allowed already or nothing would
}
