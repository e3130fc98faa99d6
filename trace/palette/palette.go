// Package palette gives clusters, MPI and noise their colours, the same in every picture and trace format.
// A cluster's number comes in, a colour comes out: it depends on nothing else, so that cluster 3 looks the same in
// all pictures of all runs. It never decides what is drawn.
package palette

import "fmt"

// A Colour is 8 bits a channel, sRGB.
type Colour struct{ R, G, B uint8 }

// Hex returns the colour as CSS writes it, "#rrggbb".
func (c Colour) Hex() string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// RGBA makes a Colour an image/color.Color.
func (c Colour) RGBA() (r, g, b, a uint32) {
	return uint32(c.R) * 0x101, uint32(c.G) * 0x101, uint32(c.B) * 0x101, 0xffff
}

// Cluster returns the colour of a cluster by its number, 1 and up.
func Cluster(id int32) Colour { return Colour{} }
