package picture

import (
	"bytes"
	"fmt"
	"regexp"
)

// The canvas spells out what SVG can say in a third of the bytes (W3C, SVG 1.1, 8.3 and 11.4).
var (
	// dots is a path of nothing but full circles of pointRadius, dot one of them.
	dots = regexp.MustCompile(`<path d="((?:M[-0-9.,]+(?:A1\.5,1\.5 0 1 1 [-0-9.,]+){2})+)" style="fill:(#[0-9A-F]{6})" />`)
	dot  = regexp.MustCompile(`(M[-0-9.,]+)A1\.5,1\.5 0 1 1 [-0-9.,]+A1\.5,1\.5 0 1 1 [-0-9.,]+`)
	// box is four corners: left, low; right, low; right, high; left, high.
	// stroke is a line of lines without a fill, straight one of them that goes straight up or across.
	stroke   = regexp.MustCompile(`^<path d="([^"]*)" (style="fill:none;stroke:#[0-9A-F]{6};stroke-width:[0-9.]+" />)$`)
	straight = regexp.MustCompile(`M([-0-9.]+),([-0-9.]+)L([-0-9.]+),([-0-9.]+)`)
	box      = regexp.MustCompile(`M([-0-9.]+),([-0-9.]+)L([-0-9.]+),([-0-9.]+)L([-0-9.]+),([-0-9.]+)L([-0-9.]+),([-0-9.]+)Z`)
)

// hole is the colour of dots that lie in others.
const hole = "#FFFFFF"

// said is what the canvas says of each text, in the order of its place in the text, and what says the same in all.
var said = []struct{ long, short string }{
	{`<g transform="scale(1, -1)`, `<g style="font-family:Liberation Sans" transform="scale(1, -1)`},
	{"font-family:Liberation Sans;font-variant:normal;", ""},
	{"font-weight:normal;", ""},
	{"font-style:normal;", ""},
	{"<image ", `<image preserveAspectRatio="none" `}, // a bin is no square
	{"data:image/jpg;", "data:image/png;"},            // which it is
}

// compact says in fewer bytes what is seen just the same.
func compact(svg []byte) []byte {
	svg = bytes.Replace(svg, []byte(said[0].long), []byte(said[0].short), 1)
	for _, s := range said[1:] {
		svg = bytes.ReplaceAll(svg, []byte(s.long), []byte(s.short))
	}
	// A circle is the round end of a line without length, which lies to the left of where the circle's path begins.
	svg = dots.ReplaceAllFunc(svg, func(path []byte) []byte {
		parts := dots.FindSubmatch(path)
		var b bytes.Buffer
		b.WriteString(`<path transform="translate(-1.5)" d="`)
		b.Write(dot.ReplaceAll(parts[1], []byte("${1}h0")))
		width := "3"
		if string(parts[2]) == hole {
			width = "1.4"
		}
		fmt.Fprintf(&b, `" style="fill:none;stroke:%s;stroke-width:%s;stroke-linecap:round" />`, parts[2], width)
		return b.Bytes()
	})
	svg = strokes(svg)
	return box.ReplaceAllFunc(svg, func(path []byte) []byte {
		c := box.FindSubmatch(path)
		if !bytes.Equal(c[2], c[4]) || !bytes.Equal(c[3], c[5]) || !bytes.Equal(c[6], c[8]) || !bytes.Equal(c[1], c[7]) {
			return path
		}
		return fmt.Appendf(nil, "M%s,%sH%sV%sH%sZ", c[1], c[2], c[3], c[6], c[1])
	})
}

// strokes puts lines of one colour and width that follow each other together.
func strokes(svg []byte) []byte {
	var out, style []byte // style: of the path that is open
	end := func() {
		if style != nil {
			out = append(append(append(out, `" `...), style...), '\n')
		}
		style = nil
	}
	for line := range bytes.Lines(svg) {
		parts := stroke.FindSubmatch(bytes.TrimSuffix(line, []byte("\n")))
		if parts == nil || !bytes.Equal(parts[2], style) {
			end()
		}
		switch {
		case parts == nil:
			out = append(out, line...)
			continue
		case style == nil:
			out = append(out, `<path d="`...)
			style = parts[2]
		}
		out = append(out, straight.ReplaceAllFunc(parts[1], func(part []byte) []byte {
			c := straight.FindSubmatch(part)
			switch {
			case bytes.Equal(c[1], c[3]):
				return fmt.Appendf(nil, "M%s,%sV%s", c[1], c[2], c[4])
			case bytes.Equal(c[2], c[4]):
				return fmt.Appendf(nil, "M%s,%sH%s", c[1], c[2], c[3])
			}
			return part
		})...)
	}
	end()
	return out
}
