package output

import (
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// Rows writes rows of cells: aligned with headings on a terminal, otherwise
// tab-separated, whole and without headings unless they are asked for.
type Rows struct {
	w     io.Writer
	flush func() error
	cut   int // the longest cell, 0 for no limit
	err   error
}

// longestCell keeps a table readable on a terminal. In a pipe nothing is cut.
const longestCell = 60

// NewRows begins a table.
func NewRows(w io.Writer, tty bool, headings ...string) *Rows {
	if !tty {
		return &Rows{w: w, flush: func() error { return nil }}
	}
	tabs := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	r := &Rows{w: tabs, flush: tabs.Flush, cut: longestCell}
	r.Add(headings...)
	return r
}

// Add writes a row.
func (r *Rows) Add(cells ...string) {
	if r.err != nil {
		return
	}
	safe := make([]string, len(cells))
	for i, cell := range cells {
		safe[i] = r.shorten(Line(cell))
	}
	_, r.err = io.WriteString(r.w, strings.Join(safe, "\t")+"\n")
}

func (r *Rows) shorten(cell string) string {
	if r.cut == 0 || utf8.RuneCountInString(cell) <= r.cut {
		return cell
	}
	return string([]rune(cell)[:r.cut-1]) + "…"
}

// Close writes what is left and returns the first error.
func (r *Rows) Close() error {
	if r.err != nil {
		return r.err
	}
	return r.flush()
}
