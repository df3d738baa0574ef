package testkafka

import (
	"os/exec"
	"runtime"
)

// forker starts processes from one thread that lives as long as it does: the
// kernel's promise to kill a child with its parent means the parent's thread.
type forker struct {
	requests chan forkRequest // unbuffered: a request is answered or never taken
	done     chan struct{}    // closed when the thread has ended
}

type forkRequest struct {
	cmd    *exec.Cmd
	result chan error // holds the one answer
}

// newForker starts the thread. close ends it, and with it, on Linux, every
// process that it started.
func newForker() *forker {
	f := &forker{requests: make(chan forkRequest), done: make(chan struct{})}
	go f.run()
	return f
}

// run ends with the thread still locked, so that the thread ends with it.
func (f *forker) run() {
	defer close(f.done)
	runtime.LockOSThread()
	for request := range f.requests {
		request.result <- request.cmd.Start()
	}
}

// start starts cmd as cmd.Start does. It must not be called after close.
func (f *forker) start(cmd *exec.Cmd) error {
	request := forkRequest{cmd: cmd, result: make(chan error, 1)}
	f.requests <- request
	return <-request.result
}

func (f *forker) close() {
	close(f.requests)
	<-f.done
}
