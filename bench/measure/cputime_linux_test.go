package measure

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestClockCountsWhatIsBelow(t *testing.T) {
	before, err := Clock{os.Getpid()}.Read()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo; read x || :")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil { // the loop is done
		t.Fatal(err)
	}
	c, err := ClockOfTree()
	if err != nil {
		t.Fatal(err)
	}
	all, err := c.Read()
	if err != nil {
		t.Fatal(err)
	}
	own, err := Clock{os.Getpid()}.Read()
	if err != nil {
		t.Fatal(err)
	}
	if own <= before {
		t.Errorf("own time went from %s to %s", before, own)
	}
	child, err := Clock{cmd.Process.Pid}.Read()
	if err != nil {
		t.Fatal(err)
	}
	if child < time.Millisecond || all < child {
		t.Errorf("the child used %s, the tree %s", child, all)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	spent := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime() // of getrusage
	if d := spent - child; d < 0 || d > 20*time.Millisecond {
		t.Errorf("the clock said %s, getrusage %s", child, spent)
	}
	if _, err := c.Read(); err == nil {
		t.Error("a process that has ended has a clock")
	}
}
