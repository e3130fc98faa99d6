package prv

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
)

// A small file that holds gigabytes of records ends in an error before they are in memory.
func TestExpansion(t *testing.T) {
	const header = "#Paraver (01/01/2026 at 00:00):1000000_ns:1(1):1:1(1:1)\n"
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	if _, err := io.WriteString(z, header); err != nil {
		t.Fatal(err)
	}
	comment := []byte(strings.Repeat("# "+strings.Repeat("0", 60)+"\n", 1<<14))
	for range 300 { // MiB
		if _, err := z.Write(comment); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for _, lenient := range []bool{false, true} {
		_, err := Read(bytes.NewReader(bomb.Bytes()), Options{Lenient: lenient})
		var at *Error
		if !errors.Is(err, errExpands) || !errors.As(err, &at) {
			t.Errorf("%d bytes, lenient %t: %v", bomb.Len(), lenient, err)
		}
	}
}
