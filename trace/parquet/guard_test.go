package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"moriens/trace"
	"moriens/trace/tracetest"
)

// A crafted file is taken apart into its bytes before the footer and the footer.
type crafted struct {
	body []byte
	meta format.FileMetaData
	raw  []byte // of the footer, in the place of meta
}

func craft(t testing.TB, file []byte) *crafted {
	t.Helper()
	n := int(binary.LittleEndian.Uint32(file[len(file)-8:]))
	c := &crafted{body: slices.Clone(file[:len(file)-8-n])}
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), slices.Clone(file[len(file)-8-n:len(file)-8]), &c.meta); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *crafted) file(t testing.TB) []byte {
	t.Helper()
	footer := c.raw
	if footer == nil {
		var err error
		if footer, err = thrift.Marshal(new(thrift.CompactProtocol), &c.meta); err != nil {
			t.Fatal(err)
		}
	}
	file := append(slices.Clone(c.body), footer...)
	return append(binary.LittleEndian.AppendUint32(file, uint32(len(footer))), "PAR1"...)
}

// column is the place of a column of the first row group.
func (c *crafted) column(t testing.TB, name string) *format.ColumnMetaData {
	t.Helper()
	columns := c.meta.RowGroups[0].Columns
	for i := range columns {
		if columns[i].MetaData.PathInSchema[0] == name {
			return &columns[i].MetaData
		}
	}
	t.Fatalf("no column %s", name)
	return nil
}

// A pageSpec is a page with whatever header it is to have.
type pageSpec struct {
	header format.PageHeader
	data   []byte // as it lies in the file
}

// put gives a column other pages.
func (c *crafted) put(t testing.TB, name string, values int64, pages ...pageSpec) {
	t.Helper()
	m := c.column(t, name)
	m.NumValues = values
	m.DataPageOffset, m.DictionaryPageOffset = int64(len(c.body)), 0
	begin := len(c.body)
	for i, p := range pages {
		if p.header.Type == format.DictionaryPage && i == 0 {
			m.DictionaryPageOffset = int64(len(c.body))
		}
		p.header.CompressedPageSize = int32(len(p.data))
		head, err := thrift.Marshal(new(thrift.CompactProtocol), &p.header)
		if err != nil {
			t.Fatal(err)
		}
		c.body = append(append(c.body, head...), p.data...)
		if p.header.Type == format.DictionaryPage && i == 0 {
			m.DataPageOffset = int64(len(c.body))
		}
	}
	m.TotalCompressedSize = int64(len(c.body) - begin)
}

// dataPage is a page of the second version whose header says values and bytes.
func dataPage(encoding format.Encoding, values int, claimed int, data []byte) pageSpec {
	p := pageSpec{data: data}
	p.header.Type = format.DataPageV2
	p.header.UncompressedPageSize = int32(claimed)
	p.header.DataPageHeaderV2 = thrift.New(format.DataPageHeaderV2{NumValues: int32(values), NumRows: int32(values), Encoding: encoding})
	return p
}

func dictionaryPage(values int, data []byte) pageSpec {
	p := pageSpec{data: snappy.Encode(nil, data)}
	p.header.Type = format.DictionaryPage
	p.header.UncompressedPageSize = int32(len(data))
	p.header.DictionaryPageHeader = thrift.New(format.DictionaryPageHeader{NumValues: int32(values), Encoding: format.Plain})
	return p
}

func packedPage(encoding format.Encoding, values int, data []byte) pageSpec {
	return dataPage(encoding, values, len(data), snappy.Encode(nil, data))
}

// run is a run of one value that takes a byte.
func run(values uint64) []byte { return append(binary.AppendUvarint(nil, values<<1), 0) }

// allocated is how much f takes, in bytes, what is given back in the meantime included.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Files of some KiB that claim to hold gigabytes are shown by their claims, at no cost.
func TestBombs(t *testing.T) {
	var good bytes.Buffer
	r := tracetest.Small()
	rows, err := Write(&good, r)
	if err != nil {
		t.Fatal(err)
	}
	rank := make([]byte, 4)
	for _, tt := range []struct {
		name string
		make func(c *crafted)
		want string
	}{
		{"rows that the footer alone has", func(c *crafted) {
			c.meta.NumRows, c.meta.RowGroups[0].NumRows = 1<<40, 1<<40
			for i := range c.meta.RowGroups[0].Columns {
				c.meta.RowGroups[0].Columns[i].MetaData.NumValues = 1 << 40
			}
		}, "rows"},
		{"many row groups of the same pages", func(c *crafted) {
			group := c.meta.RowGroups[0]
			group.NumRows = mostGroupRows
			c.meta.RowGroups = nil
			for range 100 {
				c.meta.RowGroups = append(c.meta.RowGroups, group)
				c.meta.NumRows += group.NumRows
			}
		}, "rows of"},
		{"a run of 2 GiB values", func(c *crafted) {
			c.put(t, "rank", rows, dictionaryPage(1, rank), packedPage(format.RLEDictionary, int(rows), append([]byte{1}, run(1<<31-1)...)))
		}, "runs of 2147483647 values"},
		{"many runs", func(c *crafted) {
			data := []byte{1}
			for range 1000 {
				data = append(data, run(1<<24)...)
			}
			c.put(t, "rank", rows, dictionaryPage(1, rank), packedPage(format.RLEDictionary, int(rows), data))
		}, "runs of"},
		{"packed values of no bits", func(c *crafted) {
			c.put(t, "rank", rows, dictionaryPage(1, rank), packedPage(format.RLEDictionary, int(rows), append([]byte{0}, binary.AppendUvarint(nil, 1<<30|1)...)))
		}, "runs of"},
		{"levels", func(c *crafted) {
			p := dataPage(format.RLEDictionary, int(rows), 0, run(1<<31-1))
			p.header.DataPageHeaderV2.V.DefinitionLevelsByteLength = int32(len(p.data))
			p.header.UncompressedPageSize = int32(len(p.data))
			c.put(t, "phase", rows, p)
		}, "runs of 2147483647 values"},
		{"levels of the first version", func(c *crafted) {
			levels := run(1<<31 - 1)
			p := packedPage(format.RLEDictionary, int(rows), append(binary.LittleEndian.AppendUint32(nil, uint32(len(levels))), levels...))
			p.header.Type, p.header.DataPageHeaderV2 = format.DataPage, thrift.Null[format.DataPageHeaderV2]{}
			p.header.DataPageHeader = thrift.New(format.DataPageHeader{NumValues: int32(rows), Encoding: format.RLEDictionary, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE})
			c.put(t, "phase", rows, p)
		}, "runs of 2147483647 values"},
		{"differences", func(c *crafted) {
			data := binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(nil, 128), 4), 1<<32)
			c.put(t, "start_ns", rows, packedPage(format.DeltaBinaryPacked, int(rows), append(data, 0, 0)))
		}, "4294967296 differences"},
		{"a block of differences", func(c *crafted) {
			data := binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(nil, 1<<34), 1), uint64(rows))
			c.put(t, "start_ns", rows, packedPage(format.DeltaBinaryPacked, int(rows), append(data, 0, 0, 64)))
		}, "blocks of"},
		{"a page that its header has larger", func(c *crafted) {
			c.put(t, "rank", rows, dictionaryPage(1, rank), dataPage(format.RLEDictionary, int(rows), 1<<31-1, snappy.Encode(nil, []byte{0})))
		}, "a page of 2147483647 bytes"},
		{"a page that Snappy has larger", func(c *crafted) {
			c.put(t, "rank", rows, dictionaryPage(1, rank), dataPage(format.RLEDictionary, int(rows), 10, binary.AppendUvarint(nil, 1<<32-1)))
		}, "a page of 4294967295 bytes"},
		{"a page of more values than rows", func(c *crafted) {
			c.put(t, "rank", rows, dictionaryPage(1, rank), packedPage(format.RLEDictionary, 1<<31-1, append([]byte{1}, run(5)...)))
		}, "a page of 2147483647 values"},
		{"a dictionary", func(c *crafted) {
			c.put(t, "rank", rows, dictionaryPage(1<<31-1, rank), packedPage(format.RLEDictionary, int(rows), append([]byte{1}, run(uint64(rows))...)))
		}, "a dictionary of 2147483647 values"},
		{"a list in the footer", func(c *crafted) {
			c.raw = append([]byte{0x15, 2, 0x19, 0xfc}, binary.AppendUvarint(nil, 1<<31-1)...) // version, schema of so many
		}, "a list of 2147483647"},
		{"empty row groups and columns", func(c *crafted) {
			c.raw = append([]byte{0x15, 2, 0x19, 0xfc}, binary.AppendUvarint(nil, 1<<16)...)
			c.raw = append(c.raw, make([]byte, 1<<16)...)
			c.raw = append(append(c.raw, 0x16, 0, 0x19, 0xfc), binary.AppendUvarint(nil, 1<<16)...)
			c.raw = append(append(c.raw, make([]byte, 1<<16)...), 0)
		}, "a list of 65536"},
		{"structures within each other", func(c *crafted) {
			c.raw = bytes.Repeat([]byte{0x1c}, 20<<20)
		}, "within each other"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := craft(t, good.Bytes())
			tt.make(c)
			file := c.file(t)
			var err error
			took := allocated(func() { _, err = Read(bytes.NewReader(file), int64(len(file))) })
			if !errors.Is(err, ErrBomb) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if most := uint64(16<<20 + 4*len(file)); took > most {
				t.Errorf("%d bytes taken for a file of %d", took, len(file))
			}
		})
	}
}

// What moriens has not written is refused, not decoded.
func TestUnusual(t *testing.T) {
	var good bytes.Buffer
	rows, err := Write(&good, tracetest.Small())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		make func(c *crafted)
		want string
	}{
		{"Zstandard", func(c *crafted) { c.column(t, "rank").Codec = format.Zstd }, "column rank: compressed by ZSTD"},
		{"prefixes", func(c *crafted) {
			c.put(t, "call_path_before", rows, packedPage(format.DeltaByteArray, int(rows), []byte{1}))
		}, "encoded by DELTA_BYTE_ARRAY"},
		{"behind the file", func(c *crafted) { c.column(t, "rank").TotalCompressedSize = 1 << 40 }, "are not in the file"},
		{"no pages", func(c *crafted) { c.column(t, "rank").TotalCompressedSize = 0 }, "are not in the file"},
		{"too few values", func(c *crafted) {
			c.put(t, "start_ns", rows, packedPage(format.Plain, int(rows)-1, make([]byte, 8*(rows-1))))
		}, "values in its pages"},
		{"a list", func(c *crafted) { c.meta.Schema[1].RepetitionType.V = format.Repeated }, "is a list or a group"},
	} {
		c := craft(t, good.Bytes())
		tt.make(c)
		file := c.file(t)
		if _, err := Read(bytes.NewReader(file), int64(len(file))); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	file := craft(t, good.Bytes()).file(t) // nothing changed
	if _, err := Read(bytes.NewReader(file), int64(len(file))); err != nil {
		t.Error(err)
	}
	for cut := range good.Len() {
		if _, err := Read(bytes.NewReader(good.Bytes()[:cut]), int64(cut)); err == nil {
			t.Fatalf("the first %d bytes of %d are read", cut, good.Len())
		}
	}
}

// A long name that all rows have is in memory once, not in each.
func TestLongNames(t *testing.T) {
	const rows, long = 20_000, 64 << 10
	name := strings.Repeat("x", long)
	var profile bytes.Buffer
	p := &Profile{}
	for range rows {
		p.Rows = append(p.Rows, ProfileRow{Kind: ProfileMPI, CallPath: name, Iterations: -1})
	}
	if err := WriteProfile(&profile, p); err != nil {
		t.Fatal(err)
	}
	var phases bytes.Buffer
	r := &trace.Run{MarkNames: []string{name}, Threads: []trace.Thread{{Phases: make([]trace.Phase, rows)}}}
	if err := WritePhases(&phases, r); err != nil {
		t.Fatal(err)
	}
	const most = 100 << 20
	took := allocated(func() {
		if _, err := ReadProfile(bytes.NewReader(profile.Bytes()), int64(profile.Len())); err != nil {
			t.Error(err)
		}
	})
	if took > most {
		t.Errorf("profile: %d bytes taken for a file of %d", took, profile.Len())
	}
	n := 0
	took = allocated(func() {
		err := ReadPhases(bytes.NewReader(phases.Bytes()), int64(phases.Len()), func(_, _, _ int, got string, _ trace.Phase) error {
			if got != name {
				return io.ErrUnexpectedEOF
			}
			n++
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	if took > most || n != rows {
		t.Errorf("%d phases: %d bytes taken for a file of %d", n, took, phases.Len())
	}
}

// Bursts that are as regular as can be, and more of them than are free, are no bomb.
func TestRegularBursts(t *testing.T) {
	const bursts = freeValues/12 + 300_000
	b := trace.Bursts{
		StartNS: make([]int64, bursts), DurationNS: make([]int64, bursts), Before: make([]uint32, bursts), After: make([]uint32, bursts), Cluster: make([]int32, bursts),
	}
	state := uint64(1)
	for k := range b.StartNS {
		state = state*6364136223846793005 + 1442695040888963407
		b.StartNS[k], b.DurationNS[k] = int64(k)*10_000, 5_000+int64(state>>62) // two bits of noise
	}
	r := &trace.Run{CallPaths: []trace.CallPath{{}}, Worlds: []trace.World{{Size: 1}}, Threads: []trace.Thread{{Bursts: b}}}
	var file bytes.Buffer
	if _, err := Write(&file, r); err != nil {
		t.Fatal(err)
	}
	back, err := Read(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatalf("%d bursts in %d bytes: %v", bursts, file.Len(), err)
	}
	if back.Bursts() != bursts {
		t.Errorf("%d bursts of %d", back.Bursts(), bursts)
	}
	t.Logf("%.2f bytes a burst", float64(file.Len())/bursts)
}

// Transfers of a program that sends the same round and round are no bomb, however little room they take.
func TestRegularTransfers(t *testing.T) {
	const transfers = freeValues/11 + 300_000
	x := trace.Transfers{
		Call: make([]uint32, transfers), Kind: make([]trace.TransferKind, transfers), Peer: make([]int32, transfers), Tag: make([]int32, transfers),
		Comm: make([]int32, transfers), Bytes: make([]int64, transfers), Done: make([]int32, transfers),
	}
	for k := range x.Call {
		x.Call[k], x.Peer[k], x.Bytes[k], x.Done[k] = uint32(k), int32(k%4), 8192, int32(k+4-k%4)
		x.Kind[k] = []trace.TransferKind{trace.Sent, trace.Received}[k%2]
	}
	var file bytes.Buffer
	if err := WriteTransfers(&file, &trace.Run{Threads: []trace.Thread{{Transfers: x}}}); err != nil {
		t.Fatal(err)
	}
	n := 0
	err := ReadTransfers(bytes.NewReader(file.Bytes()), int64(file.Len()), func(Transfer) error { n++; return nil })
	if err != nil || n != transfers {
		t.Errorf("%d of %d transfers in %d bytes: %v", n, transfers, file.Len(), err)
	}
	t.Logf("%.3f bytes a transfer", float64(file.Len())/transfers)
}

// Whatever a file of bursts says, reading takes memory in proportion to it.
func FuzzRead(f *testing.F) {
	var good bytes.Buffer
	if _, err := Write(&good, tracetest.Small()); err != nil {
		f.Fatal(err)
	}
	c := craft(f, good.Bytes())
	footer := good.Bytes()[len(c.body) : good.Len()-8]
	f.Add(c.body, footer)
	f.Fuzz(func(t *testing.T, body, footer []byte) {
		file := append(slices.Clone(body), footer...)
		file = append(binary.LittleEndian.AppendUint32(file, uint32(len(footer))), "PAR1"...)
		if took := allocated(func() { Read(bytes.NewReader(file), int64(len(file))) }); took > 64<<20+2000*uint64(len(file)) {
			t.Errorf("%d bytes taken for a file of %d", took, len(file))
		}
	})
}
