// Package wire compresses what agents that keep their bursts (--cells) answer the collector, with Zstandard: both ends
// import it. Most of what other agents send is sections, which are packed already.
package wire

import (
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/grpc/encoding"
)

// Name is that of the compression in gRPC's headers.
const Name = "zstd"

// windowBytes bounds what a reader has to keep of a message, whatever its writer.
const windowBytes = 1 << 20

func init() { encoding.RegisterCompressor(&compressor{}) }

type compressor struct{ writers, readers sync.Pool }

func (c *compressor) Name() string { return Name }

// A writer gathers a message, which is compressed in one go when it is closed: that needs no window of its own, and
// resets no tables for what a short message does not fill. It goes back to its pool then.
type writer struct {
	to         io.Writer
	pool       *sync.Pool
	plain, out []byte
}

func (w *writer) Write(p []byte) (int, error) {
	w.plain = append(w.plain, p...)
	return len(p), nil
}

func (w *writer) Close() error {
	w.out = encoder.EncodeAll(w.plain, w.out[:0])
	_, err := w.to.Write(w.out)
	w.to = nil
	if cap(w.plain) <= keptBytes {
		w.pool.Put(w)
	}
	return err
}

// keptBytes is how large a message can be whose memory is used again.
const keptBytes = 256 << 10

// encoder has as many states as there are processors, each made when it is needed.
var encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false),
	zstd.WithWindowSize(windowBytes), zstd.WithLowerEncoderMem(true))

func (c *compressor) Compress(to io.Writer) (io.WriteCloser, error) {
	w, is := c.writers.Get().(*writer)
	if !is {
		w = &writer{pool: &c.writers}
	}
	w.to, w.plain = to, w.plain[:0]
	return w, nil
}

// A reader goes back to its pool at the end of its message. One that meets an error is left to the garbage collector.
type reader struct {
	*zstd.Decoder
	pool *sync.Pool
}

func (r *reader) Read(p []byte) (int, error) {
	if r.pool == nil {
		return 0, io.EOF // the decoder may be another message's by now
	}
	n, err := r.Decoder.Read(p)
	if err == io.EOF {
		r.pool.Put(r.Decoder)
		r.pool = nil
	}
	return n, err
}

func (c *compressor) Decompress(from io.Reader) (io.Reader, error) {
	d, is := c.readers.Get().(*zstd.Decoder)
	if !is {
		var err error
		if d, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(windowBytes)); err != nil {
			return nil, err
		}
	}
	if err := d.Reset(from); err != nil {
		return nil, err
	}
	return &reader{d, &c.readers}, nil
}
