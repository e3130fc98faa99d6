// Package console prints for users: a status line at the bottom of a terminal that leaves the rest of it to the job,
// and tables.
package console

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"moriens/internal/plain"
)

// minRows is the height below which a terminal has no line to spare.
const minRows = 5

// plainEvery is how often a status is a line of its own where there is no terminal: logs remain short.
const plainEvery = time.Minute

// A Status is a line at the bottom of a terminal. The rows above it scroll as if the terminal were one
// row shorter (the scroll region of ECMA-48 terminals), so that what the job prints never meets it. Where there is no
// such terminal it is a plain line from time to time.
//
// The zero Status shows nothing.
type Status struct {
	out     io.Writer
	size    func() (columns, rows int, err error)
	resized chan os.Signal
	stopped chan struct{}

	mu            sync.Mutex
	columns, rows int // rows is 0 while there is no line
	text          string

	plain io.Writer // where lines of their own go; nil = nowhere
	last  time.Time // when there was one, or at first the beginning
}

// OpenStatus takes the bottom line of the terminal that f is. Where f is no terminal, or one that
// cannot do it, the status is a line of its own every minute.
func OpenStatus(f *os.File) *Status {
	if t := os.Getenv("TERM"); !term.IsTerminal(int(f.Fd())) || t == "" || t == "dumb" {
		return &Status{plain: f, last: time.Now()}
	}
	s := &Status{
		out:     f,
		size:    func() (int, int, error) { return term.GetSize(int(f.Fd())) },
		resized: make(chan os.Signal, 1),
		stopped: make(chan struct{}),
	}
	s.take()
	signal.Notify(s.resized, syscall.SIGWINCH)
	go func() {
		for {
			select {
			case <-s.resized:
				s.take()
			case <-s.stopped:
				return
			}
		}
	}()
	return s
}

// Between the parts of a status.
const separator = " · "

// fitting is text without as many of its last parts as are too much for a width; what is left of a first part that
// alone is too long is cut.
func fitting(text string, columns int) string {
	for utf8.RuneCountInString(text) > columns {
		end := strings.LastIndex(text, separator)
		if end < 0 {
			return string([]rune(text)[:columns])
		}
		text = text[:end]
	}
	return text
}

// Show puts text on the line, without its last parts, " · " before each, where the terminal is too narrow for them.
func (s *Status) Show(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.plain != nil && time.Since(s.last) >= plainEvery {
		s.last = time.Now()
		fmt.Fprintln(s.plain, plain.Line(text))
	}
	s.text = text
	s.draw()
}

// Close gives the line back.
func (s *Status) Close() {
	if s.out == nil {
		return
	}
	signal.Stop(s.resized)
	close(s.stopped)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rows > 0 {
		// Setting the region moves the cursor home: hence the saving and restoring.
		fmt.Fprintf(s.out, "\0337\033[r\033[%d;1H\033[K\0338", s.rows)
		s.rows = 0
	}
}

// take reserves the bottom line, at first and whenever the terminal's size has changed.
func (s *Status) take() {
	s.mu.Lock()
	defer s.mu.Unlock()
	columns, rows, err := s.size()
	if err != nil || rows < minRows {
		return
	}
	s.columns, s.rows = columns, rows
	// A line feed first: were the cursor on the bottom line, it would be left outside of the region.
	fmt.Fprintf(s.out, "\n\0337\033[1;%dr\0338\033[1A", rows-1)
	s.draw()
}

func (s *Status) draw() {
	if s.rows == 0 {
		return
	}
	text := fitting(plain.Line(s.text), s.columns)
	fmt.Fprintf(s.out, "\0337\033[%d;1H\033[7m%s\033[K\033[0m\0338", s.rows, text)
}
