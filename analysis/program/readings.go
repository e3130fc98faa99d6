package program

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Readings are other ways to find the loops of the same calls, to compare with. They are made at the end of a run,
// while the sequences of calls are there.
type Readings struct {
	// Order is what the order of lines says where machine code was there, but is left aside. nil: the program is that.
	Order *Program `json:"order,omitempty"`
	// OrderSame says that the order of lines finds the same loops and conditions: then Order is nil.
	OrderSame bool       `json:"order_same,omitempty"`
	Thesis    *Published `json:"thesis,omitempty"`
}

// Published is what the method of Martínez Vera says of a run (analysis/program/thesis).
type Published struct {
	Program *Program `json:"program"`
	Plot    Plot     `json:"plot"`
}

// LeftOut is the loop of points that explain too little.
const LeftOut int32 = -1

// A Plot has the points that were clustered.
type Plot struct {
	Eps    float64 `json:"eps"`
	Delta  float64 `json:"delta"` // below it sites are left out
	Loops  int     `json:"loops"`
	Points []Point `json:"points"`
	// Once is how many call paths are reached once on each thread: they have no time between, and no point.
	Once int `json:"once,omitempty"`
	// Joined says that ranks with other repetitions are one point, so that there are fewer: its repetitions are their
	// mean.
	Joined bool `json:"joined,omitempty"`
	// Others is how many points are not there for lack of room: those that explain least.
	Others int `json:"others,omitempty"`
}

// A Point is a call path on those ranks that reach it equally often, in one class. In JSON it is a list of its fields.
type Point struct {
	Path        uint32 // number in callpaths.json
	Ranks       int    // threads that the point stands for
	Repetitions int64
	MeanNS      float64 // between two repetitions, mean of the threads
	Delta       float64 // likewise
	Loop        int32   // from 0, by repetitions, descending; LeftOut
}

// MarshalJSON writes a list: there may be many points.
func (x Point) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{x.Path, x.Ranks, x.Repetitions, math.Round(x.MeanNS), rounded(x.Delta, 6), x.Loop})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (x *Point) UnmarshalJSON(text []byte) error {
	list := []any{&x.Path, &x.Ranks, &x.Repetitions, &x.MeanNS, &x.Delta, &x.Loop}
	n := len(list)
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	if len(list) != n {
		return fmt.Errorf("a point has %d figures, not %d", len(list), n)
	}
	return nil
}

// rounded is a number with so many digits, of which the others say nothing.
func rounded(x float64, most int) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', most, 64), 64)
	if err != nil {
		return x
	}
	return y
}

// SetOrder keeps what the order of lines says of a program, unless that is the same.
func (p *Program) SetOrder(order *Program) error {
	var own, other bare
	if err := errors.Join(own.write(p), other.write(order)); err != nil {
		return err
	}
	if bytes.Equal(own.Bytes(), other.Bytes()) {
		p.Readings.OrderSame = true
	} else {
		p.Readings.Order = order
	}
	return nil
}

// ByOrder is a program of which the order of lines says the same.
func (p *Program) ByOrder() *Program {
	o := *p
	o.Basis, o.Readings = ByOrder, nil
	o.Why = append(slices.Clip(o.Why), "The order of lines finds the same loops and conditions as the machine code; lines of loops are those of the code.")
	o.Body = withoutCode(p.Body, false)
	return &o
}

// bare is the text of a program without what differs with the evidence alone.
type bare struct{ bytes.Buffer }

func (c *bare) write(p *Program) error {
	p = &Program{Ranks: p.Ranks, Body: withoutCode(p.Body, true)}
	return p.Write(c)
}

// withoutCode are nodes of which none is by machine code; bare, loops have no place in the source.
func withoutCode(list []*Node, bare bool) []*Node {
	var out []*Node
	for _, n := range list {
		x := *n
		if x.By == ByCode {
			x.By = ByOrder
		}
		if bare && x.Kind == KindLoop {
			x.Function, x.File, x.Line = "", "", 0
		}
		x.Body = withoutCode(n.Body, bare)
		out = append(out, &x)
	}
	return out
}

// UnmarshalJSON says in which reading something is wrong: each has a node 1.
func (r *Readings) UnmarshalJSON(text []byte) error {
	var raw struct {
		Order     json.RawMessage `json:"order"`
		OrderSame bool            `json:"order_same"`
		Thesis    json.RawMessage `json:"thesis"`
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return fmt.Errorf("the readings: %w", err)
	}
	*r = Readings{OrderSame: raw.OrderSame}
	if raw.Order != nil {
		if err := json.Unmarshal(raw.Order, &r.Order); err != nil {
			return fmt.Errorf("the reading order: %w", err)
		}
	}
	if raw.Thesis != nil {
		if err := json.Unmarshal(raw.Thesis, &r.Thesis); err != nil {
			return fmt.Errorf("the reading thesis: %w", err)
		}
	}
	return nil
}

func (r *Readings) check(ranks int) error {
	list := map[string]*Program{"order": r.Order}
	if r.OrderSame && r.Order != nil {
		return errors.New("the reading order is said to be the same, and is another one")
	}
	if r.Thesis != nil {
		if r.Thesis.Program == nil {
			return errors.New("the reading thesis has no program")
		}
		list["thesis"] = r.Thesis.Program
		if err := r.Thesis.Plot.check(); err != nil {
			return fmt.Errorf("the reading thesis: %w", err)
		}
	}
	for name, p := range list {
		switch {
		case p == nil:
		case p.Readings != nil:
			return fmt.Errorf("the reading %s has readings", name)
		case p.Ranks != ranks:
			return fmt.Errorf("the reading %s has %d ranks, not %d", name, p.Ranks, ranks)
		}
	}
	return nil
}

func (p *Plot) check() error {
	if !isShare(p.Delta) || !(p.Eps >= 0) || p.Loops < 0 || p.Once < 0 || p.Others < 0 {
		return errors.New("the plot has figures that cannot be")
	}
	for i := range p.Points {
		if x := &p.Points[i]; x.Ranks < 1 || x.Repetitions < 1 || !(x.MeanNS >= 0) || !(x.Delta >= 0) || x.Loop < LeftOut || int(x.Loop) >= p.Loops {
			return fmt.Errorf("point %d of the plot has figures that cannot be", i+1)
		}
	}
	return nil
}

// bytes is how many a plot has in its file.
func (p *Plot) bytes() (int, error) {
	text, err := json.Marshal(p)
	return len(text), err
}

// fold is a plot that has at most so many bytes: first the ranks of a call path in a class become one point, then those
// that explain least are left out.
func (p *Plot) fold(most int) (*Plot, error) {
	if n, err := p.bytes(); err != nil || n <= most {
		return p, err
	}
	f := p.joined()
	n, err := f.bytes()
	if err != nil || n <= most {
		return f, err
	}
	slices.SortStableFunc(f.Points, func(a, b Point) int { return cmp.Compare(b.Delta, a.Delta) })
	all := f.Points
	for keep := len(all); ; keep = keep * 3 / 4 {
		f.Points, f.Others = all[:keep:keep], p.Others+len(all)-keep
		if n, err = f.bytes(); err != nil || n <= most || keep == 0 {
			slices.SortFunc(f.Points, Point.compare)
			return f, err
		}
	}
}

// joined is a plot in which a call path has one point in each class.
func (p *Plot) joined() *Plot {
	f := *p
	f.Points, f.Joined = nil, true
	type key struct {
		path uint32
		loop int32
	}
	at := make(map[key]int)
	for _, x := range p.Points {
		k, known := at[key{x.Path, x.Loop}]
		if !known {
			at[key{x.Path, x.Loop}] = len(f.Points)
			f.Points = append(f.Points, x)
			continue
		}
		y, n := &f.Points[k], float64(x.Ranks)
		sum := float64(y.Ranks) + n
		y.Repetitions = int64(math.Round((float64(y.Repetitions)*float64(y.Ranks) + float64(x.Repetitions)*n) / sum))
		y.MeanNS = (y.MeanNS*float64(y.Ranks) + x.MeanNS*n) / sum
		y.Delta = (y.Delta*float64(y.Ranks) + x.Delta*n) / sum
		y.Ranks += x.Ranks
	}
	return &f
}

func (x Point) compare(y Point) int {
	return cmp.Or(cmp.Compare(x.Path, y.Path), cmp.Compare(x.Repetitions, y.Repetitions), cmp.Compare(x.Loop, y.Loop))
}

// foldReadings leaves each reading a quarter of the bytes at most, and gives the program what remains.
func foldReadings(p *Program, room int) (*Program, error) {
	quarter := room / 4
	folded, readings := *p, *p.Readings
	folded.Readings = nil
	var err error
	if readings.Order != nil {
		if readings.Order, err = Fold(readings.Order, quarter); err != nil {
			return nil, err
		}
	}
	if t := readings.Thesis; t != nil {
		made := new(Published)
		plot, err := t.Plot.fold(quarter / 2)
		if err != nil {
			return nil, err
		}
		made.Plot = *plot
		if made.Program, err = Fold(t.Program, quarter/2); err != nil {
			return nil, err
		}
		readings.Thesis = made
	}
	alone, both := counter(0), counter(0)
	if err := folded.Write(&alone); err != nil {
		return nil, err
	}
	folded.Readings = &readings
	if err := folded.Write(&both); err != nil || int(both) <= room {
		return &folded, err
	}
	folded.Readings = nil
	main, err := Fold(&folded, room-int(both-alone))
	if err != nil {
		return nil, err
	}
	made := *main
	made.Readings = &readings
	return &made, nil
}
