//go:build !linux

package testkafka

import "syscall"

// childAttributes leaves a process in the terminal's group, so that Ctrl-C
// ends it too: only Linux ends children with their parent.
func childAttributes() *syscall.SysProcAttr { return nil }
