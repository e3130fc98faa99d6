package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	pq "github.com/parquet-go/parquet-go"
)

// A columnValues has what a column has for rows that follow each other: the values of those that have one, in the slice
// of the column's type.
type columnValues struct {
	levels   []byte // by row: there means that it has a value; nil: each has one
	int32s   []int32
	int64s   []int64
	doubles  []float64
	texts    []string
	booleans []pq.Value
}

// there is the definition level of a row with a value, in a column that is not in a group.
const there = 1

// put hands out the value of each row that has one.
func put[R, T any](rows []R, levels []byte, values []T, field func(*R) *T) {
	if levels == nil {
		for k, x := range values[:len(rows)] {
			*field(&rows[k]) = x
		}
		return
	}
	next := 0
	for k, level := range levels[:len(rows)] {
		if level == there {
			*field(&rows[k]) = values[next]
			next++
		}
	}
}

// A chunk reads a column of a row group, page by page. Values are not made one by one: those of a page are in one
// slice, or are places in the dictionary, whose values are made once.
type chunk struct {
	kind  pq.Kind
	pages pq.Pages
	page  pq.Page
	texts interned // of all row groups, so that texts that are equal mostly are the same

	dictionary *columnValues // nil: not known yet

	// Of the page: what it has, and how much of that was read.
	of             columnValues
	places         []int32      // in the dictionary; nil: the page has values
	rows, at, past int          // past: values before row at
	buffer         columnValues // for what is made of places
	offsets        []uint32
	bytes          []byte // of texts without a dictionary
	values         pq.ValueReader
}

func newChunk(c pq.ColumnChunk, texts interned) *chunk {
	return &chunk{kind: c.Type().Kind(), pages: c.Pages(), texts: texts}
}

func (c *chunk) close() {
	c.release()
	c.pages.Close()
}

// release lets the library use the memory of the page again.
func (c *chunk) release() {
	if c.page != nil {
		pq.Release(c.page)
		c.page = nil
	}
}

// next returns what the column has for some of the next n rows, at least one, and for how many. It is valid until the
// next call.
func (c *chunk) next(n int) (*columnValues, int, error) {
	for c.page == nil || c.at == c.rows {
		c.release()
		p, err := c.pages.ReadPage()
		if err == io.EOF {
			return nil, 0, errRows
		}
		if err != nil {
			return nil, 0, err
		}
		if c.page = p; c.page == nil {
			return nil, 0, errRows
		}
		if err := c.open(); err != nil {
			return nil, 0, err
		}
	}
	n = min(n, c.rows-c.at)
	some := &columnValues{}
	has := n
	if c.of.levels != nil {
		some.levels = c.of.levels[c.at : c.at+n]
		has = bytes.Count(some.levels, []byte{there})
	}
	if err := c.take(some, has); err != nil {
		return nil, 0, err
	}
	c.at, c.past = c.at+n, c.past+has
	return some, n, nil
}

// open begins a page.
func (c *chunk) open() error {
	c.rows, c.at, c.past = int(c.page.NumValues()), 0, 0
	c.of, c.places, c.values = columnValues{}, nil, nil
	if levels := c.page.DefinitionLevels(); len(levels) > 0 {
		if c.of.levels = levels; len(levels) != c.rows {
			return errRows
		}
	}
	if c.rows == 0 {
		return nil
	}
	data := c.page.Data()
	if d := c.page.Dictionary(); d != nil {
		if c.dictionary == nil {
			if err := c.define(d); err != nil {
				return err
			}
		}
		c.places = data.Int32()
		return nil
	}
	switch c.kind {
	case pq.Int32:
		c.of.int32s = data.Int32()
	case pq.Int64:
		c.of.int64s = data.Int64()
	case pq.Double:
		c.of.doubles = data.Double()
	case pq.ByteArray:
		c.bytes, c.offsets = data.ByteArray()
	case pq.Boolean:
		c.values = c.page.Values()
	default:
		return fmt.Errorf("no column of moriens is of kind %s", c.kind)
	}
	return nil
}

// define makes the values of the dictionary.
func (c *chunk) define(d pq.Dictionary) error {
	c.dictionary = new(columnValues)
	data := d.Page().Data()
	switch c.kind {
	case pq.Int32:
		c.dictionary.int32s = data.Int32()
	case pq.Int64:
		c.dictionary.int64s = data.Int64()
	case pq.Double:
		c.dictionary.doubles = data.Double()
	case pq.ByteArray:
		texts := make([]string, d.Len())
		for i := range texts {
			texts[i] = c.texts.text(d.Index(int32(i)).ByteArray())
		}
		c.dictionary.texts = texts
	default:
		return fmt.Errorf("no column of moriens has a dictionary of kind %s", c.kind)
	}
	return nil
}

// take puts the next values of the page into some.
func (c *chunk) take(some *columnValues, n int) (err error) {
	if n == 0 {
		return nil
	}
	if c.places != nil {
		if c.past+n > len(c.places) {
			return errRows
		}
		places, d := c.places[c.past:c.past+n], c.dictionary
		switch c.kind {
		case pq.Int32:
			some.int32s, err = lookUp(&c.buffer.int32s, d.int32s, places)
		case pq.Int64:
			some.int64s, err = lookUp(&c.buffer.int64s, d.int64s, places)
		case pq.Double:
			some.doubles, err = lookUp(&c.buffer.doubles, d.doubles, places)
		case pq.ByteArray:
			some.texts, err = lookUp(&c.buffer.texts, d.texts, places)
		}
		return err
	}
	switch c.kind {
	case pq.Int32:
		some.int32s, err = part(c.of.int32s, c.past, n)
	case pq.Int64:
		some.int64s, err = part(c.of.int64s, c.past, n)
	case pq.Double:
		some.doubles, err = part(c.of.doubles, c.past, n)
	case pq.ByteArray:
		offsets, err := part(c.offsets, c.past, n+1)
		if err != nil {
			return err
		}
		some.texts = room(&c.buffer.texts, n)
		for i := range some.texts {
			some.texts[i] = c.texts.text(c.bytes[offsets[i]:offsets[i+1]])
		}
	case pq.Boolean:
		some.booleans = room(&c.buffer.booleans, n)
		for have := 0; have < n; {
			got, err := c.values.ReadValues(some.booleans[have:])
			if have += got; have < n && (err != nil || got == 0) {
				return errors.Join(errRows, err)
			}
		}
	}
	return err
}

func part[T any](list []T, from, n int) ([]T, error) {
	if from+n > len(list) {
		return nil, errRows
	}
	return list[from : from+n], nil
}

// room makes a buffer one of n elements.
func room[T any](buffer *[]T, n int) []T {
	if cap(*buffer) < n {
		*buffer = make([]T, n)
	}
	*buffer = (*buffer)[:n]
	return *buffer
}

// lookUp puts into a buffer what has these places in a dictionary.
func lookUp[T any](buffer *[]T, dictionary []T, places []int32) ([]T, error) {
	values := room(buffer, len(places))
	for i, p := range places {
		if uint(p) >= uint(len(dictionary)) {
			return nil, fmt.Errorf("place %d in a dictionary of %d values", p, len(dictionary))
		}
		values[i] = dictionary[p]
	}
	return values, nil
}
