package console

import (
	"bytes"
	"io"
	"os"

	"golang.org/x/term"
)

// Coloured is a file, in colours where it is a terminal that has them and NO_COLOR is not set.
func Coloured(f *os.File) io.Writer {
	if !term.IsTerminal(int(f.Fd())) || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return f
	}
	return &coloured{to: f}
}

// colours of lines, by what they begin with (ECMA-48 SGR): bold, red, yellow.
var colours = []struct{ begin, code string }{
	{"moriens: ", "1"}, {"parallel efficiency ", "1"}, {"incomplete: ", "31"}, {"losses: none", ""}, {"losses: ", "31"}, {"warning: ", "33"},
	{"missing: ", "33"}, {"note: ", "33"},
}

// coloured takes whole lines; what a Write leaves of one is as it is.
type coloured struct{ to io.Writer }

func (c *coloured) Write(text []byte) (int, error) {
	var b bytes.Buffer
	for line := range bytes.Lines(text) {
		code := ""
		for _, x := range colours {
			if bytes.HasPrefix(line, []byte(x.begin)) {
				code = x.code
				break
			}
		}
		if end := bytes.IndexByte(line, '\n'); code != "" && end >= 0 {
			b.WriteString("\033[" + code + "m")
			b.Write(line[:end])
			b.WriteString("\033[0m\n")
			continue
		}
		b.Write(line)
	}
	if _, err := c.to.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return len(text), nil
}
