package prv

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// An Error is a fault in a trace, at a line.
type Error struct {
	Line int // 1-based
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }
func (e *Error) Unwrap() error { return e.Err }

// maxLineBytes bounds a line: the header of a million tasks has 10 MB.
const maxLineBytes = 256 << 20

// ErrTruncated says that a compressed trace ends before its data do, ErrDamaged that they are not what was compressed.
var (
	ErrTruncated = errors.New("the compressed file is cut short")
	ErrDamaged   = errors.New("the compressed file is damaged")
)

var (
	errCut     = errors.New("the last line has no end: the file is cut short")
	errTooLong = fmt.Errorf("longer than %d bytes", maxLineBytes)
)

// lines hands out a stream's lines without copying them.
type lines struct {
	in         io.Reader
	buf        []byte
	start, end int // of what is read and not handed out
	err        error
	number     int // of the line handed out last, 1-based
}

func newLines(in io.Reader) *lines { return &lines{in: in, buf: make([]byte, 1<<18)} }

// next returns the next line without its end, valid until the call after. At the end of the stream it returns io.EOF;
// a last line without a newline is errCut, because it may have lost digits.
func (l *lines) next() ([]byte, error) {
	searched := 0
	for {
		if i := bytes.IndexByte(l.buf[l.start+searched:l.end], '\n'); i >= 0 {
			line := l.buf[l.start : l.start+searched+i]
			l.start += searched + i + 1
			l.number++
			if n := len(line); n > 0 && line[n-1] == '\r' {
				line = line[:n-1]
			}
			return line, nil
		}
		searched = l.end - l.start
		if l.err != nil {
			if l.err == io.EOF && searched == 0 {
				return nil, io.EOF
			}
			return nil, &Error{l.number + 1, endOf(l.err)}
		}
		if err := l.fill(); err != nil {
			return nil, &Error{l.number + 1, err}
		}
	}
}

// endOf says what the end of a stream within a line means.
func endOf(err error) error {
	switch {
	case err == io.EOF:
		return errCut
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: %w", ErrTruncated, err)
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.As(err, new(flate.CorruptInputError)):
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}

func (l *lines) fill() error {
	if l.start > 0 {
		copy(l.buf, l.buf[l.start:l.end])
		l.start, l.end = 0, l.end-l.start
	}
	if l.end == len(l.buf) {
		if l.end >= maxLineBytes {
			return errTooLong
		}
		l.buf = append(l.buf, make([]byte, len(l.buf))...)
	}
	for tries := 0; ; tries++ {
		n, err := l.in.Read(l.buf[l.end:])
		l.end += n
		l.err = err
		if n > 0 || err != nil {
			return nil
		}
		if tries == 100 {
			l.err = io.ErrNoProgress
			return nil
		}
	}
}

// number reads the digits of b from i on, an optional sign before them, and returns the place after them.
// Without a digit, or out of the range of int64, next is -1.
func number(b []byte, i int) (v int64, next int) {
	negative := false
	if i < len(b) && b[i] == '-' {
		negative = true
		i++
	}
	first := i
	var u uint64
	for ; i < len(b); i++ {
		d := b[i] - '0'
		if d > 9 {
			break
		}
		u = u*10 + uint64(d)
	}
	// 18 digits cannot overflow.
	if n := i - first; n > 18 {
		var ok bool
		if u, ok = longNumber(b[first:i]); !ok {
			return 0, -1
		}
		if u > 1<<63 || u == 1<<63 && !negative {
			return 0, -1
		}
	} else if n == 0 {
		return 0, -1
	}
	if negative {
		return -int64(u), i
	}
	return int64(u), i
}

func longNumber(digits []byte) (u uint64, ok bool) {
	for _, c := range digits {
		if u > (1<<64-1)/10 {
			return 0, false
		}
		v := u*10 + uint64(c-'0')
		if v < u*10 {
			return 0, false
		}
		u = v
	}
	return u, true
}
