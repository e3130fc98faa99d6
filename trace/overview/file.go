package overview

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"moriens/trace"
	"moriens/trace/pack"
)

// FormatVersion is the version of the file.
const FormatVersion = 1

// maxFile is how much a file may hold when it is unpacked: several times what the finest grid takes.
const maxFile = 64 << 20

// A Place is the document of the file, and what a page says of its overview.
type Place struct {
	FromNS int64    `json:"from_ns"`
	ToNS   int64    `json:"to_ns"`
	Bins   int      `json:"bins"`
	Rows   [][2]int `json:"rows"`
	Codes  []int    `json:"codes"`
}

// Place says where the cells lie.
func (o *Overview) Place() Place {
	return Place{FromNS: o.BeginNS, ToNS: o.EndNS, Bins: o.Bins, Rows: o.Rows, Codes: o.Codes}
}

// AddTo puts the columns into a pack.
func (o *Overview) AddTo(c *pack.Columns) {
	pack.Add(c, "overview.cell", o.Cell)
	pack.Add(c, "overview.share", o.Share)
	pack.Add(c, "overview.profile", o.Profile)
	if o.Wait != nil {
		pack.Add(c, "overview.wait", o.Wait)
	}
	if o.Waiting != nil {
		pack.Add(c, "overview.waiting", o.Waiting)
	}
	if o.Path.Row != nil {
		pack.Add(c, "overview.path.row", o.Path.Row)
		pack.Add(c, "overview.path.share", o.Path.Share)
	}
}

type document struct {
	Format int `json:"format"`
	Place
	Columns map[string]pack.Column `json:"columns"`
}

// Write writes the file.
func (o *Overview) Write(w io.Writer) error {
	out := gzip.NewWriter(w)
	if err := o.write(out); err != nil {
		return err
	}
	return out.Close()
}

// write writes what the file holds.
func (o *Overview) write(w io.Writer) error {
	var c pack.Columns
	o.AddTo(&c)
	return pack.Write(w, document{FormatVersion, o.Place(), c.Places}, &c)
}

// Read reads what Write wrote, of a run of so many threads.
func Read(r io.Reader, threads int) (*Overview, error) {
	in, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxFile {
		return nil, fmt.Errorf("it holds more than %d bytes", maxFile)
	}
	o, err := parse(b)
	if err != nil {
		return nil, err
	}
	if n := o.threads(); n != threads {
		return nil, fmt.Errorf("it is of %d threads, %d are known", n, threads)
	}
	return o, nil
}

// parse takes apart what the file holds.
func parse(b []byte) (*Overview, error) {
	text, c, err := pack.Read(b)
	if err != nil {
		return nil, err
	}
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	if d.Format != FormatVersion {
		return nil, fmt.Errorf("format %d, not %d", d.Format, FormatVersion)
	}
	if d.FromNS != 0 {
		return nil, fmt.Errorf("it is of a part of the run, from %d ns on", d.FromNS)
	}
	o := &Overview{EndNS: d.ToNS, Bins: d.Bins, Rows: d.Rows, Codes: d.Codes}
	var errs [7]error
	o.Cell, errs[0] = pack.Get[uint16](c, "overview.cell")
	o.Share, errs[1] = pack.Get[uint8](c, "overview.share")
	o.Profile, errs[2] = pack.Get[float32](c, "overview.profile")
	if _, there := c.Places["overview.wait"]; there {
		o.Wait, errs[3] = pack.Get[uint8](c, "overview.wait")
	}
	if _, there := c.Places["overview.waiting"]; there { // files of earlier versions have waits without it
		o.Waiting, errs[4] = pack.Get[uint8](c, "overview.waiting")
	}
	if _, there := c.Places["overview.path.row"]; there {
		o.Path.Row, errs[5] = pack.Get[uint16](c, "overview.path.row")
		o.Path.Share, errs[6] = pack.Get[uint8](c, "overview.path.share")
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return o, o.check()
}

// check makes sure that rows and columns fit together.
func (o *Overview) check() error {
	if o.Rows == nil || o.Codes == nil {
		return errors.New("it has no list of rows or none of codes")
	}
	if o.Bins < 1 || o.Bins > maxFile || o.EndNS < 1 || len(o.Cell) != len(o.Rows)*o.Bins || len(o.Share) != len(o.Cell) || len(o.Profile) != len(o.Codes)*o.Bins {
		return fmt.Errorf("%d rows of %d bins, %d codes: there are %d cells, %d shares, %d sums", len(o.Rows), o.Bins, len(o.Codes), len(o.Cell), len(o.Share), len(o.Profile))
	}
	if o.Wait != nil && len(o.Wait) != len(o.Cell) {
		return fmt.Errorf("there are %d cells, %d waits", len(o.Cell), len(o.Wait))
	}
	if o.Waiting != nil && len(o.Waiting) != trace.WaitKinds*o.Bins {
		return fmt.Errorf("%d bins, %d shares of waits", o.Bins, len(o.Waiting))
	}
	if err := o.Path.check(o.Bins, len(o.Rows)); err != nil {
		return err
	}
	next := 0
	for i, row := range o.Rows {
		if row[0] != next || row[1] < row[0] {
			return fmt.Errorf("row %d is of threads %d to %d, after thread %d", i, row[0], row[1], next-1)
		}
		next = row[1] + 1
	}
	return nil
}

// check makes sure that there is the path of all bins, or of none, and that its rows are there.
func (p *Path) check(bins, rows int) error {
	if p.Row == nil {
		return nil
	}
	if len(p.Row) != bins*PathRows || len(p.Share) != len(p.Row) {
		return fmt.Errorf("%d bins: the critical path has %d rows, %d shares", bins, len(p.Row), len(p.Share))
	}
	for i, row := range p.Row {
		if p.Share[i] > 0 && int(row) >= rows {
			return fmt.Errorf("the critical path is in row %d of %d", row, rows)
		}
	}
	return nil
}

// threads is how many the rows are of.
func (o *Overview) threads() int {
	if n := len(o.Rows); n > 0 {
		return o.Rows[n-1][1] + 1
	}
	return 0
}
