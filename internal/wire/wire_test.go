package wire

import (
	"bytes"
	"io"
	"testing"

	"google.golang.org/grpc/encoding"
)

func TestRoundTrip(t *testing.T) {
	c := encoding.GetCompressor(Name)
	for i := range 5 { // pools included
		message := bytes.Repeat([]byte{byte(i), 1, 2}, 100_000*i)
		var sent bytes.Buffer
		w, err := c.Compress(&sent)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(message); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if i > 0 && sent.Len() > len(message)/10 {
			t.Errorf("%d bytes became %d", len(message), sent.Len())
		}
		r, err := c.Decompress(&sent)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, message) {
			t.Errorf("%d of %d bytes, %v", len(got), len(message), err)
		}
	}
	for range 2 { // what is no message leaves the next ones alone
		r, err := c.Decompress(bytes.NewReader([]byte("no message")))
		if err == nil {
			_, err = io.ReadAll(r)
		}
		if err == nil {
			t.Error("taken for a message")
		}
	}
}
