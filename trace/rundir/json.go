package rundir

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"reflect"
	"strconv"

	"moriens/internal/files"
	"moriens/internal/hint"
)

// A Number is a float64 that JSON can hold: NaN and the infinities are written as null and read back as NaN.
type Number float64

// MarshalJSON writes the shortest text that reads back as the same number.
func (n Number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// Rounded is a number with so many decimals: what files have many of need not take more room than it says.
func Rounded(x float64, decimals int) Number {
	unit := math.Pow10(decimals)
	if r := math.Round(x * unit); !math.IsInf(r, 0) {
		return Number(r / unit)
	}
	return Number(x)
}

// UnmarshalJSON reads a number or null.
func (n *Number) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*n = Number(math.NaN())
		return nil
	}
	x, err := strconv.ParseFloat(string(text), 64)
	*n = Number(x)
	return err
}

// ReadManifest reads manifest.json of a run directory.
func ReadManifest(dir string) (*Manifest, error) {
	m := new(Manifest)
	return m, readJSON(files.Dir(dir), ManifestFile, ManifestFormat, m)
}

// ReadClusters reads clusters.json of a run directory.
func ReadClusters(dir string) (*Clusters, error) {
	c := new(Clusters)
	return c, readJSON(files.Dir(dir), ClustersFile, ClustersFormat, c)
}

// readJSON checks the file's version before it looks at the rest, which another version may hold in another way.
func readJSON(dir fs.FS, name string, format int, v any) error {
	text, err := fs.ReadFile(dir, name)
	if err != nil {
		return err
	}
	var version struct {
		Format  *int    `json:"format"`
		Moriens Program `json:"moriens"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		if err.Error() == "unexpected end of JSON input" {
			err = fmt.Errorf("it is cut short, at %d bytes", len(text))
		}
		return hint.With(fmt.Errorf("%s: %w", name, err), AdviseDamage)
	}
	switch {
	case version.Format == nil:
		return hint.With(fmt.Errorf("%s has no format number: it was not written by moriens", name), adviseDirectory)
	case *version.Format != format:
		return hint.With(fmt.Errorf("%s has format %d, this moriens reads %d", name, *version.Format, format),
			"read it with the moriens version that wrote it; moriens version lists the supported formats")
	}
	if err := afford(text, reflect.TypeOf(v)); err != nil {
		return hint.With(fmt.Errorf("%s: %w", name, err), AdviseDamage)
	}
	if err := json.Unmarshal(text, v); err != nil {
		return hint.With(fmt.Errorf("%s: %w", name, err), AdviseDamage)
	}
	return nil
}
