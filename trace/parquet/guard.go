package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/snappy"
	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// What a file may claim. The library takes memory for what footer, page headers and runs say, and a run of 2 GiB
// values has six bytes.
const (
	mostFooter    = 32 << 20         // bytes
	mostGroupRows = 4 * rowsPerGroup // of a row group
	mostPage      = 256 << 20        // bytes of a page, decompressed
	mostAtOnce    = 1 << 30          // bytes, decompressed, of the dictionary and the largest page of all columns of a row group
	mostHeader    = 16 << 20         // bytes of a page's header, which has the least and the greatest value
	mostBlock     = 1 << 16          // values of a block of differences
	mostDepth     = 32               // of structures within each other

	// Values (rows times columns): the first so many, and so many for each byte of the file. A burst, of 12 columns
	// or more, takes half a byte at least, as its times are never the same.
	freeValues    = 16 << 20
	valuesPerByte = 64

	// Transfers have no times: a program that sends the same round and round has hundreds in a byte. Who reads them
	// knows how many calls there are.
	transferValuesPerByte = 1024

	// Snappy makes 64 bytes of 3.
	mostExpansion = 22

	// Parts of a footer that are no numbers: the first so many, and one for each so many bytes. A column of a row
	// group takes over 100 bytes and has five.
	freeParts    = 4 << 10
	bytesPerPart = 16
)

// ErrBomb is the error for a file that claims to hold more than one of its size can.
var ErrBomb = errors.New("it claims to hold more than a file of its size can")

func bomb(form string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrBomb, fmt.Sprintf(form, args...))
}

// open opens a file of which all claims have been checked against its size, so that reading it takes memory in
// proportion.
func open(in io.ReaderAt, size, perByte int64) (*pq.File, error) {
	meta, footer, err := footerOf(in, size)
	if err != nil {
		return nil, err
	}
	g := &guard{in: in, size: size, perByte: perByte, end: size - int64(footer) - 8}
	if err := g.file(meta); err != nil {
		return nil, err
	}
	return pq.OpenFile(in, size, pq.SkipPageIndex(true), pq.SkipBloomFilters(true))
}

// footerOf reads the footer, and returns its length in bytes too.
func footerOf(in io.ReaderAt, size int64) (*format.FileMetaData, int, error) {
	const magic = "PAR1"
	var tail [8]byte
	if size < int64(len(magic)+len(tail)) {
		return nil, 0, fmt.Errorf("it has %d bytes: no parquet file", size)
	}
	if _, err := in.ReadAt(tail[:], size-int64(len(tail))); err != nil && err != io.EOF {
		return nil, 0, err
	}
	if string(tail[4:]) != magic {
		return nil, 0, fmt.Errorf("it does not end in %s: no parquet file, or one that is cut short", magic)
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	switch {
	case n > size-int64(len(magic)+len(tail)):
		return nil, 0, fmt.Errorf("a footer of %d bytes in a file of %d", n, size)
	case n > mostFooter:
		return nil, 0, bomb("a footer of %d bytes", n)
	}
	text := make([]byte, n)
	if _, err := in.ReadAt(text, size-int64(len(tail))-n); err != nil && err != io.EOF {
		return nil, 0, err
	}
	w := walk{b: text, parts: freeParts + len(text)/bytesPerPart}
	if err := w.structure(0); err != nil {
		return nil, 0, fmt.Errorf("footer: %w", err)
	}
	meta := new(format.FileMetaData)
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), text[:w.at], meta); err != nil {
		return nil, 0, fmt.Errorf("footer: %w", err)
	}
	return meta, int(n), nil
}

// A guard goes through what a file claims.
type guard struct {
	in        io.ReaderAt
	size, end int64 // of the file, and where its footer begins
	perByte   int64 // how many values the file may have for each of its bytes
	optional  []bool
	names     []string
	packed    []byte // of a page
	plain     []byte
}

func (g *guard) file(meta *format.FileMetaData) error {
	if err := g.schema(meta.Schema); err != nil {
		return err
	}
	rows := int64(0)
	for i := range meta.RowGroups {
		group := &meta.RowGroups[i]
		switch {
		case group.NumRows < 0 || group.NumRows > mostGroupRows:
			return bomb("row group %d: %d rows", i, group.NumRows)
		case len(group.Columns) != len(g.optional):
			return fmt.Errorf("row group %d: %d columns of %d", i, len(group.Columns), len(g.optional))
		}
		rows += group.NumRows // fewer than 1<<25 groups fit into a footer
	}
	if values := rows * int64(len(g.optional)); values > freeValues+g.perByte*g.size {
		return bomb("%d rows of %d columns in %d bytes", rows, len(g.optional), g.size)
	}
	if rows != meta.NumRows {
		return fmt.Errorf("%d rows, %d in its row groups", meta.NumRows, rows)
	}
	for i := range meta.RowGroups {
		group := &meta.RowGroups[i]
		atOnce := int64(0)
		for k := range group.Columns {
			held, err := g.chunk(&group.Columns[k], g.optional[k], group.NumRows)
			if err != nil {
				return fmt.Errorf("row group %d, column %s: %w", i, g.names[k], err)
			}
			if atOnce += held; atOnce > mostAtOnce {
				return bomb("row group %d: pages of more than %d bytes at once", i, mostAtOnce)
			}
		}
	}
	return nil
}

// schema finds the columns: all of a moriens file stand side by side, with one value in each row, or none.
func (g *guard) schema(elements []format.SchemaElement) error {
	if len(elements) == 0 {
		return errors.New("it has no schema")
	}
	for i := range elements[1:] {
		e := &elements[i+1]
		repetition := e.RepetitionType.V
		if e.NumChildren.V != 0 || repetition == format.Repeated {
			return fmt.Errorf("column %s is a list or a group", e.Name)
		}
		g.optional = append(g.optional, repetition == format.Optional)
		g.names = append(g.names, e.Name)
	}
	return nil
}

// chunk checks the pages of a column of a row group. held is how many bytes reading them takes at once.
func (g *guard) chunk(c *format.ColumnChunk, optional bool, rows int64) (held int64, err error) {
	m := &c.MetaData
	if m.Codec != format.Snappy && m.Codec != format.Uncompressed {
		return 0, fmt.Errorf("compressed by %v: moriens compresses by Snappy", m.Codec)
	}
	if m.NumValues != rows || c.FilePath != "" {
		return 0, fmt.Errorf("%d values, not %d, or they are in another file", m.NumValues, rows)
	}
	at := m.DataPageOffset
	if m.DictionaryPageOffset != 0 {
		at = m.DictionaryPageOffset
	}
	if at < 0 || m.TotalCompressedSize < 0 || at > g.end || m.TotalCompressedSize > g.end-at || m.DataPageOffset < at || m.DataPageOffset > at+m.TotalCompressedSize {
		return 0, fmt.Errorf("%d bytes from byte %d on are not in the file", m.TotalCompressedSize, at)
	}
	end := at + m.TotalCompressedSize
	var dictionary, largest, values int64
	for first := true; at < end; first = false {
		header, n, err := g.header(at, end)
		if err != nil {
			return 0, err
		}
		at += int64(n)
		bytes, plain := int64(header.CompressedPageSize), int64(header.UncompressedPageSize)
		switch {
		case bytes < 0 || bytes > end-at:
			return 0, fmt.Errorf("a page of %d bytes where %d are left", bytes, end-at)
		case plain < 0 || plain > mostPage || plain > 64+mostExpansion*bytes:
			return 0, bomb("a page of %d bytes in %d", plain, bytes)
		}
		g.packed = grown(g.packed, int(bytes))
		if _, err := g.in.ReadAt(g.packed, at); err != nil && err != io.EOF {
			return 0, err
		}
		at += bytes
		n64, err := g.page(header, m.Codec, optional, rows-values)
		if err != nil {
			return 0, err
		}
		if header.Type == format.DictionaryPage {
			if !first {
				return 0, errors.New("a second dictionary, or one behind what it is for")
			}
			dictionary = plain + 16*n64
			continue
		}
		values += n64
		largest = max(largest, plain+16*n64)
	}
	if values != rows {
		return 0, fmt.Errorf("%d values in its pages, not %d", values, rows)
	}
	return dictionary + largest, nil
}

// header reads the header of a page, and how many bytes it has.
func (g *guard) header(at, end int64) (*format.PageHeader, int, error) {
	for most := int64(512); ; most *= 8 {
		g.packed = grown(g.packed, int(min(most, end-at)))
		if _, err := g.in.ReadAt(g.packed, at); err != nil && err != io.EOF {
			return nil, 0, err
		}
		w := walk{b: g.packed, parts: freeParts}
		err := w.structure(0)
		if errors.Is(err, io.ErrUnexpectedEOF) && most < end-at && most < mostHeader {
			continue
		}
		if err != nil {
			return nil, 0, fmt.Errorf("header of the page at byte %d: %w", at, err)
		}
		h := new(format.PageHeader)
		if err := thrift.Unmarshal(new(thrift.CompactProtocol), bytes.Clone(g.packed[:w.at]), h); err != nil {
			return nil, 0, fmt.Errorf("header of the page at byte %d: %w", at, err)
		}
		return h, w.at, nil
	}
}

// page checks the page in g.packed, which may have so many values at most, and returns how many it has.
func (g *guard) page(h *format.PageHeader, codec format.CompressionCodec, optional bool, most int64) (values int64, err error) {
	packed, plain := g.packed, int(h.UncompressedPageSize)
	compressed := codec == format.Snappy
	var encoding format.Encoding
	var levels []byte
	switch v1, v2, d := &h.DataPageHeader, &h.DataPageHeaderV2, &h.DictionaryPageHeader; {
	case h.Type == format.DictionaryPage && d.Valid:
		values, encoding = int64(d.V.NumValues), d.V.Encoding
		if values < 0 || values > int64(plain) {
			return 0, bomb("a dictionary of %d values in %d bytes", values, plain)
		}
		if encoding != format.Plain {
			return 0, unusual(encoding)
		}
		_, err := g.unpack(packed, plain, compressed)
		return values, err
	case h.Type == format.DataPage && v1.Valid:
		values, encoding = int64(v1.V.NumValues), v1.V.Encoding
		if optional && v1.V.DefinitionLevelEncoding != format.RLE {
			return 0, unusual(v1.V.DefinitionLevelEncoding)
		}
	case h.Type == format.DataPageV2 && v2.Valid:
		values, encoding = int64(v2.V.NumValues), v2.V.Encoding
		n := int64(v2.V.DefinitionLevelsByteLength)
		if v2.V.RepetitionLevelsByteLength != 0 || n < 0 || n > int64(min(len(packed), plain)) || v2.V.NumNulls < 0 || int64(v2.V.NumNulls) > values {
			return 0, errors.New("the levels of a page are not in it")
		}
		levels, packed, plain = packed[:n], packed[n:], plain-int(n)
		if v2.V.IsCompressed.Valid && !v2.V.IsCompressed.V {
			compressed = false
		}
	default:
		return 0, fmt.Errorf("a page of type %v, or its header is of another", h.Type)
	}
	if values < 0 || values > most {
		return 0, bomb("a page of %d values where %d are left of the row group", values, most)
	}
	data, err := g.unpack(packed, plain, compressed)
	if err != nil {
		return 0, err
	}
	if optional && h.Type == format.DataPage {
		if len(data) < 4 || int64(binary.LittleEndian.Uint32(data)) > int64(len(data)-4) {
			return 0, errors.New("the levels of a page are not in it")
		}
		n := int(binary.LittleEndian.Uint32(data))
		levels, data = data[4:4+n], data[4+n:]
	}
	if err := runs(levels, 1, values); err != nil {
		return 0, err
	}
	return values, contents(data, encoding, values)
}

func unusual(e format.Encoding) error {
	return fmt.Errorf("encoded by %v: moriens does not write that", e)
}

// unpack returns what a page holds.
func (g *guard) unpack(packed []byte, bytes int, compressed bool) ([]byte, error) {
	if !compressed || len(packed) == 0 {
		return packed, nil
	}
	n, err := snappy.DecodedLen(packed)
	if err != nil {
		return nil, err
	}
	if n != bytes {
		return nil, bomb("a page of %d bytes that says it has %d", n, bytes)
	}
	g.plain = grown(g.plain, n)
	return snappy.Decode(g.plain, packed)
}

// grown is a slice of n bytes, b if it is long enough.
func grown(b []byte, n int) []byte {
	if cap(b) < n {
		b = make([]byte, n)
	}
	return b[:n]
}

// contents checks that the encoded values of a page decode to no more than the page claims.
func contents(data []byte, encoding format.Encoding, values int64) error {
	switch encoding {
	case format.Plain:
		return nil // each takes room
	case format.RLEDictionary:
		if len(data) == 0 {
			return nil
		}
		if data[0] > 32 {
			return fmt.Errorf("places in a dictionary of %d bits", data[0])
		}
		return runs(data[1:], int(data[0]), values)
	case format.DeltaBinaryPacked:
		return differences(data, values)
	}
	return unusual(encoding)
}

// runs goes through runs of one value and runs of packed values.
func runs(data []byte, bits int, values int64) error {
	const slack = 64 // packed runs are filled up
	for n := uint64(0); len(data) > 0; {
		head, used := binary.Uvarint(data)
		if used <= 0 {
			return errShort
		}
		data = data[used:]
		count, bytes := head>>1, uint64(bits+7)/8
		if count > math.MaxInt32 {
			return bomb("a run of %d values in a page of %d", count, values)
		}
		if head&1 != 0 {
			bytes = count * uint64(bits)
			count *= 8
		}
		if n += count; n > uint64(values)+slack {
			return bomb("runs of %d values in a page of %d", n, values)
		}
		if bytes > uint64(len(data)) {
			return errShort
		}
		data = data[bytes:]
	}
	return nil
}

var errShort = errors.New("a run is cut short")

// differences looks at the head of differences from one value to the next.
func differences(data []byte, values int64) error {
	if len(data) == 0 {
		return nil
	}
	var head [3]uint64 // values of a block, miniblocks of a block, values
	for i := range head {
		v, used := binary.Uvarint(data)
		if used <= 0 {
			return errShort
		}
		head[i], data = v, data[used:]
	}
	switch {
	case head[0] == 0 || head[0] > mostBlock || head[1] == 0 || head[1] > head[0]:
		return bomb("blocks of %d differences in %d parts", head[0], head[1])
	case head[2] > uint64(values):
		return bomb("%d differences in a page of %d values", head[2], values)
	}
	return nil
}

// A walk goes through a structure in Thrift's compact form without keeping any of it.
type walk struct {
	b     []byte
	at    int
	parts int // that may still come in lists, numbers left out
}

// Types of the compact form.
const (
	thriftTrue, thriftFalse, thriftByte, thriftI16, thriftI32, thriftI64 = 1, 2, 3, 4, 5, 6
	thriftDouble, thriftBinary, thriftList, thriftSet, thriftMap         = 7, 8, 9, 10, 11
	thriftStruct                                                         = 12
)

func (w *walk) skip(n uint64) error {
	if n > uint64(len(w.b)-w.at) {
		return io.ErrUnexpectedEOF
	}
	w.at += int(n)
	return nil
}

func (w *walk) byte() (byte, error) {
	if w.at >= len(w.b) {
		return 0, io.ErrUnexpectedEOF
	}
	w.at++
	return w.b[w.at-1], nil
}

func (w *walk) uvarint() (uint64, error) {
	v, n := binary.Uvarint(w.b[w.at:])
	switch {
	case n == 0:
		return 0, io.ErrUnexpectedEOF
	case n < 0:
		return 0, errors.New("a number of more than 64 bits")
	}
	w.at += n
	return v, nil
}

func (w *walk) structure(depth int) error {
	if depth > mostDepth {
		return bomb("more than %d structures within each other", mostDepth)
	}
	for {
		head, err := w.byte()
		if err != nil || head == 0 {
			return err
		}
		if head>>4 == 0 { // the field's number is no difference
			if _, err := w.uvarint(); err != nil {
				return err
			}
		}
		if kind := head & 15; kind == thriftTrue || kind == thriftFalse {
			continue // the kind is the value
		} else if err := w.value(kind, depth+1); err != nil {
			return err
		}
	}
}

func (w *walk) value(kind byte, depth int) error {
	switch kind {
	case thriftTrue, thriftFalse, thriftByte:
		return w.skip(1)
	case thriftI16, thriftI32, thriftI64:
		_, err := w.uvarint()
		return err
	case thriftDouble:
		return w.skip(8)
	case thriftBinary:
		n, err := w.uvarint()
		if err != nil {
			return err
		}
		return w.skip(n)
	case thriftList, thriftSet:
		return w.list(depth)
	case thriftMap:
		return errors.New("a map, which no parquet file has")
	case thriftStruct:
		return w.structure(depth)
	}
	return fmt.Errorf("a value of type %d", kind)
}

func (w *walk) list(depth int) error {
	if depth > mostDepth {
		return bomb("more than %d lists within each other", mostDepth)
	}
	head, err := w.byte()
	if err != nil {
		return err
	}
	n, kind := uint64(head>>4), head&15
	if n == 15 {
		if n, err = w.uvarint(); err != nil {
			return err
		}
	}
	if kind >= thriftBinary {
		if n > uint64(w.parts) {
			return bomb("a list of %d", n)
		}
		w.parts -= int(n)
	}
	if n > uint64(len(w.b)-w.at) { // each takes a byte
		if n > mostFooter {
			return bomb("a list of %d", n)
		}
		return io.ErrUnexpectedEOF
	}
	for range n {
		if err := w.value(kind, depth+1); err != nil {
			return err
		}
	}
	return nil
}
