package parquet

import (
	"io"

	pq "github.com/parquet-go/parquet-go"
)

// ReadProfileHead reads of a profile its format, its counters, and whether rows are of classes. Pages are neither read
// nor checked.
func ReadProfileHead(in io.ReaderAt, bytes int64) (*Profile, error) {
	p := new(Profile)
	err := sound(func() error {
		meta, _, err := footerOf(in, bytes)
		if err != nil {
			return err
		}
		if err := new(guard).schema(meta.Schema); err != nil {
			return err
		}
		f, err := pq.OpenFile(in, bytes, pq.SkipPageIndex(true), pq.SkipBloomFilters(true))
		if err != nil {
			return err
		}
		p.Format, err = formatIn(f, ProfileFormat)
		p.Counters, p.Classes = profileCounters(f), hasClasses(f)
		return err
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}
