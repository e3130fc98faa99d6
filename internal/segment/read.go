package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"moriens/internal/files"
)

// Read calls take for each record after a position, the zero Position for all, with where it ends, oldest first. The
// bytes are valid until take returns; an error of it ends the reading. Bytes that are no frame are ErrCorrupt: what an
// unfinished write has left is gone since Open, so the disk or another process has changed them. The file's further
// records are lost then, and take is not called for the files after it.
func (l *Log) Read(from Position, take func(end Position, record []byte) error) error {
	for _, file := range l.files {
		if file.Number < from.File {
			continue
		}
		offset := int64(0)
		if file.Number == from.File {
			offset = from.Offset
		}
		f, err := files.Open(l.path(file.Number))
		if err != nil {
			return err
		}
		_, err = l.scan(f, file.Number, offset, take)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// ReadFile is Read for one file of the log, all of it.
func (l *Log) ReadFile(number uint64, take func(end Position, record []byte) error) error {
	f, err := files.Open(l.path(number))
	if err != nil {
		return err
	}
	_, err = l.scan(f, number, 0, take)
	return errors.Join(err, f.Close())
}

// Record is the record that begins at an offset of the file that is written to.
func (l *Log) Record(offset int64) ([]byte, error) {
	fail := func(what string) error {
		return fmt.Errorf("%w: %s at offset %d: %s", ErrCorrupt, l.file.Name(), offset, what)
	}
	var head [frameBytes]byte
	if _, err := l.file.ReadAt(head[:], offset); err != nil {
		return nil, orCorrupt(err, fail("a frame's head is not whole"))
	}
	length := binary.LittleEndian.Uint32(head[:])
	n := int64(length &^ compressed)
	if n > MaxRecord || n > l.files[len(l.files)-1].Bytes-offset-frameBytes {
		return nil, fail("a frame is longer than what is there")
	}
	body := make([]byte, n)
	if _, err := l.file.ReadAt(body, offset+frameBytes); err != nil {
		return nil, orCorrupt(err, fail("a frame is not whole"))
	}
	if checksum(head[:4], body) != binary.LittleEndian.Uint32(head[4:]) {
		return nil, fail("a wrong checksum")
	}
	if length&compressed == 0 {
		return body, nil
	}
	record, err := decoder.DecodeAll(body, nil)
	if err != nil {
		return nil, fail(err.Error())
	}
	return record, nil
}

// First is the first record of the log in a directory, nil where it has none. Nothing is changed: ErrCorrupt may be an
// unfinished write too.
func First(dir, kind string) (record []byte, err error) {
	l := &Log{dir: dir}
	copy(l.kind[:], kind)
	if l.files, err = list(dir); err != nil || len(l.files) == 0 {
		return nil, err
	}
	errFound := errors.New("found")
	err = l.ReadFile(l.files[0].Number, func(_ Position, r []byte) error {
		record = slices.Clone(r)
		return errFound
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return record, err
}

// A file is what scan reads.
type file interface {
	io.ReaderAt
	Name() string
	Stat() (fs.FileInfo, error)
}

// scan reads frames from an offset on, 0 for the first, and returns the end of the last whole one; 0 where not even the
// head is whole.
func (l *Log) scan(f file, number uint64, offset int64, take func(Position, []byte) error) (end int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	size := info.Size()
	fail := func(what string) error {
		return fmt.Errorf("%w: %s at offset %d: %s", ErrCorrupt, f.Name(), end, what)
	}
	head := make([]byte, headBytes)
	if _, err := f.ReadAt(head, 0); err != nil {
		if errors.Is(err, io.EOF) {
			return 0, fail("its head is not whole")
		}
		return 0, err
	}
	if string(head) != magic+string(l.kind[:]) {
		return 0, fail("it is not a segment of this kind")
	}
	end = max(offset, int64(headBytes))
	if end > size {
		return end, fail("it ends before that")
	}
	in := newWindow(f, end, size)
	var record []byte
	for end < size {
		head, err := in.next(frameBytes)
		if err != nil {
			return end, orCorrupt(err, fail("a frame's head is not whole"))
		}
		length := binary.LittleEndian.Uint32(head)
		sum := binary.LittleEndian.Uint32(head[4:])
		var prefix [4]byte
		copy(prefix[:], head)
		n := int64(length &^ compressed)
		if n > MaxRecord || n > size-end-frameBytes {
			return end, fail("a frame is longer than what is there")
		}
		body, err := in.next(int(n))
		if err != nil {
			return end, orCorrupt(err, fail("a frame is not whole"))
		}
		if checksum(prefix[:], body) != sum {
			return end, fail("a wrong checksum")
		}
		if take != nil {
			if length&compressed != 0 {
				if record, err = decoder.DecodeAll(body, record[:0]); err != nil {
					return end, fail(err.Error())
				}
				body = record
			}
			if err := take(Position{number, end + frameBytes + n}, body); err != nil {
				return end, err
			}
		}
		end += frameBytes + n
	}
	return end, nil
}

func orCorrupt(err, corrupt error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return corrupt
	}
	return err
}

// A window reads a stretch of a file through a buffer that holds the frame at hand as a whole.
type window struct {
	in  *io.SectionReader
	buf []byte
	r   int // unread bytes of buf are buf[r:]
}

// aheadBytes is how much is read at a time.
const aheadBytes = 256 << 10

func newWindow(f io.ReaderAt, from, to int64) *window {
	return &window{in: io.NewSectionReader(f, from, to-from)}
}

// next returns the next n bytes, valid until it is called again.
func (w *window) next(n int) ([]byte, error) {
	if have := len(w.buf) - w.r; have < n {
		to := w.buf
		if cap(to) < n {
			to = make([]byte, max(n, aheadBytes))
		}
		to = to[:cap(to)]
		copy(to, w.buf[w.r:])
		got, err := io.ReadAtLeast(w.in, to[have:], n-have)
		w.buf, w.r = to[:have+got], 0
		if err != nil {
			return nil, err
		}
	}
	w.r += n
	return w.buf[w.r-n : w.r], nil
}
