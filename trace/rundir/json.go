package rundir

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
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

// encode gives the same bytes for the same value: indented, object keys in the order of the fields, maps sorted,
// and < > & as they are.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// ReadManifest reads manifest.json of a run directory.
func ReadManifest(dir string) (*Manifest, error) {
	m := new(Manifest)
	return m, readJSON(filepath.Join(dir, ManifestFile), m)
}

// ReadClusters reads clusters.json of a run directory.
func ReadClusters(dir string) (*Clusters, error) {
	c := new(Clusters)
	return c, readJSON(filepath.Join(dir, ClustersFile), c)
}

func readJSON(path string, v any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return &os.PathError{Op: "read", Path: path, Err: err}
	}
	return nil
}
