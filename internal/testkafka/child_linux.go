package testkafka

import "syscall"

// childAttributes makes a process end with the thread that started it, and
// keeps the terminal's Ctrl-C from it: its parent decides.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
