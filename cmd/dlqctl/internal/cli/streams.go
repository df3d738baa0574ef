package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// Streams is the world of a command. Data goes to Out and everything else to
// Err, so that a pipe carries data only.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// InTTY, OutTTY and ErrTTY tell which of them are terminals.
	InTTY, OutTTY, ErrTTY bool
	// Env reads an environment variable, "" for one that is not set.
	Env func(string) string
	// Now is the clock.
	Now func() time.Time
}

// The environment variables that change how a command talks.
const (
	envForceTTY = "DLQCTL_FORCE_TTY"       // write as to a terminal
	envNoPrompt = "DLQCTL_PROMPT_DISABLED" // never ask
)

// Standard returns the streams of the process.
func Standard() *Streams {
	isTTY := func(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
	s := &Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InTTY: isTTY(os.Stdin), OutTTY: isTTY(os.Stdout), ErrTTY: isTTY(os.Stderr),
		Env: os.Getenv, Now: time.Now,
	}
	if s.Env(envForceTTY) != "" {
		s.OutTTY = true
	}
	return s
}

// CanPrompt reports whether a question can be asked and answered.
func (s *Streams) CanPrompt() bool { return s.InTTY && s.ErrTTY && s.Env(envNoPrompt) == "" }

// Notef tells the user something that is not data.
func (s *Streams) Notef(format string, args ...any) {
	// Nothing can be done about a standard error that is gone.
	_, _ = fmt.Fprintf(s.Err, format+"\n", args...)
}
