package testkafka

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"
)

// parentEnv makes this test binary stand in for a program that starts a
// process and is killed.
const parentEnv = "TESTKAFKA_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentEnv) != "" {
		parent()
		return
	}
	goleak.VerifyTestMain(Main(m))
}

// parent starts a process, tells its number, and waits to be killed.
func parent() {
	cmd := exec.Command("sleep", "600")
	cmd.SysProcAttr = childAttributes()
	if err := newForker().start(cmd); err != nil {
		fmt.Fprintln(os.Stdout, err)
		return
	}
	fmt.Fprintln(os.Stdout, cmd.Process.Pid)
	_ = cmd.Wait()
}
