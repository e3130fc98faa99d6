// Package segment keeps records in append-only files that survive the death of their writer.
//
// A log is a directory of numbered files. Each starts with a header that names the log; records follow as frames:
// length, checksum, bytes, compressed where that makes them shorter. An incomplete write at the end is cut off when the
// log is opened again, and counted. The package does not interpret records; docs/format/segment.md describes the files
// byte by byte.
package segment

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/klauspost/compress/zstd"

	"moriens/internal/files"
)

const (
	// MaxRecord bounds a record, in bytes, before compression.
	MaxRecord = 64 << 20

	// Suffix is what the names of segment files end with.
	Suffix = ".seg"

	magic     = "MORSEG01"
	kindBytes = 8
	headBytes = len(magic) + kindBytes
	// Start is the offset of a file's first record.
	Start = int64(headBytes)

	frameBytes = 8 // of a frame's head: length, checksum
	// keptFrame is how large the memory can be that is used again for the next frames.
	keptFrame  = 1 << 20
	compressed = 1 << 31
	// compressFrom is from how many bytes on a record is compressed.
	compressFrom = 128
)

// ErrCorrupt is returned, wrapped with file and offset, for bytes that no writer of this package has left there.
var ErrCorrupt = errors.New("corrupt segment")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// windowBytes is how far back a record is looked for what recurs: what an encoder keeps for good is little more.
const windowBytes = 512 << 10

var (
	encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
		zstd.WithWindowSize(windowBytes), zstd.WithLowerEncoderMem(true))
	decoder, _ = zstd.NewReader(nil, zstd.WithDecoderMaxMemory(MaxRecord), zstd.WithDecoderConcurrency(1))
)

// A File is one file of a log.
type File struct {
	Number uint64
	Bytes  int64
}

// A Position is where a record ends. Positions grow.
type Position struct {
	File   uint64
	Offset int64
}

// Before reports whether p is before q.
func (p Position) Before(q Position) bool {
	return p.File < q.File || p.File == q.File && p.Offset < q.Offset
}

// A Log is a directory of segment files with one writer. Its methods must not be called concurrently, but Sync may
// be beside Append.
type Log struct {
	dir   string
	kind  [kindBytes]byte
	limit int64
	files []File // ascending; the last one is written to
	file  *os.File
	begun int64 // where the last Append began
	cut   int64
	frame []byte
	plain bool // records are not compressed
}

// Removed reports whether the file that is written to was removed: what is written then is lost.
func (l *Log) Removed() bool {
	info, err := l.file.Stat()
	return err == nil && info.Sys().(*syscall.Stat_t).Nlink == 0
}

// Compress sets whether records are compressed from now on. By default they are.
func (l *Log) Compress(on bool) { l.plain = !on }

// Open opens the log of the given kind, at most 8 characters, in a directory, which is made with mode 0700 where it is
// missing. A file is closed and a new one begun once it has fileBytes. What an unfinished write has left at the end of
// the last file is cut off.
func Open(dir, kind string, fileBytes int64) (*Log, error) {
	if len(kind) > kindBytes {
		return nil, fmt.Errorf("segments in %s: a kind of %d characters, at most %d can be", dir, len(kind), kindBytes)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := files.SyncDir(filepath.Dir(dir)); err != nil {
		return nil, err
	}
	l := &Log{dir: dir, limit: fileBytes}
	copy(l.kind[:], kind)
	var err error
	if l.files, err = list(dir); err != nil {
		return nil, err
	}
	if len(l.files) == 0 {
		return l, l.Rotate()
	}
	return l, l.resume()
}

func list(dir string) ([]File, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []File
	for _, e := range entries {
		name, isSegment := strings.CutSuffix(e.Name(), Suffix)
		if !isSegment {
			continue
		}
		number, err := strconv.ParseUint(name, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: not the name of a segment", filepath.Join(dir, e.Name()))
		}
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s: not a regular file", filepath.Join(dir, e.Name()))
		}
		files = append(files, File{number, info.Size()})
	}
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Number, b.Number) })
	return files, nil
}

func (l *Log) path(number uint64) string {
	return filepath.Join(l.dir, fmt.Sprintf("%08d%s", number, Suffix))
}

// resume opens the last file for writing, after its last whole frame.
func (l *Log) resume() error {
	last := &l.files[len(l.files)-1]
	f, err := os.OpenFile(l.path(last.Number), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	end, err := l.scan(f, last.Number, 0, nil)
	if errors.Is(err, ErrCorrupt) && end == 0 && last.Bytes < int64(headBytes) {
		// It died while it made the file.
		err = l.writeHead(f)
		end = int64(headBytes)
		l.cut += last.Bytes
		last.Bytes = end
	}
	if err != nil && (end == 0 || !errors.Is(err, ErrCorrupt)) {
		f.Close()
		return err
	}
	if cut := last.Bytes - end; cut > 0 {
		if err := f.Truncate(end); err != nil {
			f.Close()
			return err
		}
		l.cut += cut
		last.Bytes = end
	}
	if _, err := f.Seek(end, io.SeekStart); err != nil {
		f.Close()
		return err
	}
	l.file, l.begun = f, end
	return nil
}

func (l *Log) writeHead(f *os.File) error {
	head := append([]byte(magic), l.kind[:]...)
	_, err := f.WriteAt(head, 0)
	return err
}

// Cut is how many bytes of an unfinished write were cut off when the log was opened.
func (l *Log) Cut() int64 { return l.cut }

// Files lists the log's files, oldest first.
func (l *Log) Files() []File { return slices.Clone(l.files) }

// Bytes is the length of all files.
func (l *Log) Bytes() (n int64) {
	for _, f := range l.files {
		n += f.Bytes
	}
	return n
}

// End is the position after the last record.
func (l *Log) End() Position {
	last := l.files[len(l.files)-1]
	return Position{last.Number, last.Bytes}
}

// Append writes records one after the other and returns where the last one ends. They are safe from the death of
// this process when it returns, from that of the machine after Sync; where the process dies inside, the first few may
// be there. After an error, such as a full disk, none is, and it may be tried again.
func (l *Log) Append(records ...[]byte) (Position, error) {
	if l.files[len(l.files)-1].Bytes >= l.limit {
		if err := l.Rotate(); err != nil {
			return Position{}, err
		}
	}
	l.frame = l.frame[:0]
	for _, r := range records {
		if len(r) > MaxRecord {
			return Position{}, fmt.Errorf("segments in %s: a record of %d bytes, at most %d can be", l.dir, len(r), MaxRecord)
		}
		l.frame = appendFrame(l.frame, r, !l.plain)
	}
	last := &l.files[len(l.files)-1]
	if _, err := l.file.WriteAt(l.frame, last.Bytes); err != nil {
		return Position{}, errors.Join(fmt.Errorf("segments: %w", err), l.file.Truncate(last.Bytes))
	}
	l.begun = last.Bytes
	last.Bytes += int64(len(l.frame))
	if cap(l.frame) > keptFrame {
		l.frame = nil
	}
	return Position{last.Number, last.Bytes}, nil
}

func appendFrame(dst, record []byte, compress bool) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, frameBytes)...)
	flag := uint32(0)
	if compress && len(record) >= compressFrom {
		dst = encoder.EncodeAll(record, dst)
		flag = compressed
	}
	if flag == 0 || len(dst)-start-frameBytes >= len(record) {
		flag, dst = 0, append(dst[:start+frameBytes], record...)
	}
	body := dst[start+frameBytes:]
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(body))|flag)
	binary.LittleEndian.PutUint32(dst[start+4:], checksum(dst[start:start+4], body))
	return dst
}

func checksum(length, body []byte) uint32 {
	return crc32.Update(crc32.Checksum(length, castagnoli), castagnoli, body)
}

// Sync makes what was appended safe from the death of the machine.
func (l *Log) Sync() error { return l.file.Sync() }

// TakeBack removes what the last Append has appended. After a Sync that failed it is not known what of it is on the
// disk, and another Sync does not try again: the kernel may have given the bytes up. They have to be taken back and
// appended again.
func (l *Log) TakeBack() error { return l.CutAt(l.begun) }

// CutAt cuts off what follows an offset of the file that is written to.
func (l *Log) CutAt(offset int64) error {
	last := &l.files[len(l.files)-1]
	if offset < int64(headBytes) || offset > last.Bytes {
		return fmt.Errorf("segments in %s: file %d does not reach to offset %d", l.dir, last.Number, offset)
	}
	if err := l.file.Truncate(offset); err != nil {
		return fmt.Errorf("segments: %w", err)
	}
	last.Bytes, l.begun = offset, min(l.begun, offset)
	return nil
}

// Rotate begins a new file, once the one before is safe. After an error the log is as it was.
func (l *Log) Rotate() error {
	number := uint64(1)
	if l.file != nil {
		number = l.files[len(l.files)-1].Number + 1
		if err := l.file.Sync(); err != nil {
			return fmt.Errorf("segments: %w", err)
		}
	}
	f, err := os.OpenFile(l.path(number), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(l.writeHead(f), files.SyncDir(l.dir)); err != nil {
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	if l.file != nil {
		l.file.Close() // it is safe already
	}
	l.file, l.begun = f, int64(headBytes)
	l.files = append(l.files, File{number, int64(headBytes)})
	return nil
}

// Remove removes a file that is not written to any more.
func (l *Log) Remove(number uint64) error {
	i := slices.IndexFunc(l.files, func(f File) bool { return f.Number == number })
	if i < 0 || i == len(l.files)-1 {
		return fmt.Errorf("segments in %s: file %d is not there or is written to", l.dir, number)
	}
	if err := os.Remove(l.path(number)); err != nil && !errors.Is(err, fs.ErrNotExist) { // another process has removed it
		return err
	}
	l.files = slices.Delete(l.files, i, i+1)
	return nil
}

// Restart removes all that the log holds, but for a file to write to.
func (l *Log) Restart() error {
	for len(l.files) > 1 {
		if err := l.Remove(l.files[0].Number); err != nil {
			return err
		}
	}
	if err := l.file.Truncate(int64(headBytes)); err != nil {
		return fmt.Errorf("segments: %w", err)
	}
	l.files[0].Bytes, l.begun = int64(headBytes), int64(headBytes)
	return nil
}

// replaceSuffix is that of a file which is to take the place of another; one that was not finished is no part of the
// log.
const replaceSuffix = ".new"

// Replace has a file that is not written to any more hold other records. It holds those or the ones before, whenever
// the process dies.
func (l *Log) Replace(number uint64, records ...[]byte) error {
	i := slices.IndexFunc(l.files, func(f File) bool { return f.Number == number })
	if i < 0 || i == len(l.files)-1 {
		return fmt.Errorf("segments in %s: file %d is not there or is written to", l.dir, number)
	}
	content := append([]byte(magic), l.kind[:]...)
	for _, r := range records {
		content = appendFrame(content, r, true)
	}
	path := l.path(number)
	err := os.WriteFile(path+replaceSuffix, content, 0o600)
	if err == nil {
		err = os.Rename(path+replaceSuffix, path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("segments: %w", err), os.Remove(path+replaceSuffix))
	}
	l.files[i].Bytes = int64(len(content))
	return nil
}

// Truncate cuts off what follows a position of a file that is not written to any more.
func (l *Log) Truncate(to Position) error {
	i := slices.IndexFunc(l.files, func(f File) bool { return f.Number == to.File })
	if i < 0 || i == len(l.files)-1 || to.Offset < int64(headBytes) || to.Offset > l.files[i].Bytes {
		return fmt.Errorf("segments in %s: file %d does not reach to offset %d or is written to", l.dir, to.File, to.Offset)
	}
	if err := os.Truncate(l.path(to.File), to.Offset); err != nil {
		return err
	}
	l.files[i].Bytes = to.Offset
	return nil
}

// Close closes the log. What it holds is kept.
func (l *Log) Close() error { return l.file.Close() }
