package prv

import (
	"fmt"
	"io"
)

// How much text a compressed trace may hold: so many bytes, and so many for each of its own. Traces are 5 to 50 times
// as large as what gzip makes of them; it can make one byte of a thousand.
const (
	freeText    = 256 << 20
	textPerByte = 256
)

// errExpands is the error for a compressed trace that holds more.
var errExpands = fmt.Errorf("the compressed file expands to more than %d times its size, which no trace does", textPerByte)

// An expansion counts what is read of a compressed trace.
type expansion struct {
	in   io.Reader
	read int64
}

func (e *expansion) Read(p []byte) (int, error) {
	n, err := e.in.Read(p)
	e.read += int64(n)
	return n, err
}

// limit ends text where it becomes more than what was read of it can be.
func (e *expansion) limit(text io.Reader) io.Reader { return &limited{text: text, of: e} }

type limited struct {
	text io.Reader
	of   *expansion
	read int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.text.Read(p)
	if l.read += int64(n); l.read > freeText && l.read > textPerByte*l.of.read {
		return n, errExpands
	}
	return n, err
}
