package parquet

import (
	"io"

	pq "github.com/parquet-go/parquet-go"
)

// ReadProfileHead reads of a profile what stands before its rows: its format and its counters.
func ReadProfileHead(in io.ReaderAt, bytes int64) (*Profile, error) {
	p := new(Profile)
	err := withFormats(in, bytes, valuesPerByte, ProfileFormat, func(f *pq.File, format int) error {
		p.Format, p.Counters = format, profileCounters(f)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}
