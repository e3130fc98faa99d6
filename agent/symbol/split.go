package symbol

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"moriens/internal/files"
)

// debugRoot is where systems keep debugging information that was split off. Tests change it.
var debugRoot = "/usr/lib/debug"

func hasDebug(f *elf.File) bool {
	return f.Section(".debug_info") != nil
}

// openDebug finds the file that a module's debugging information was split off into, as gdb does ("Debugging
// Information in Separate Files" in its manual): by build id, then by the name and checksum in .gnu_debuglink. nil:
// there is none.
func openDebug(f *elf.File, path string, buildID []byte) *elf.File {
	if len(buildID) > 1 {
		id := hex.EncodeToString(buildID)
		d := openElf(filepath.Join(debugRoot, ".build-id", id[:2], id[2:]+".debug"))
		if d != nil && bytes.Equal(readBuildID(d), buildID) {
			return d
		}
		closeElf(d)
	}
	name, sum, ok := debugLink(f)
	if !ok {
		return nil
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	dir := filepath.Dir(path)
	for _, candidate := range []string{filepath.Join(dir, name), filepath.Join(dir, ".debug", name), filepath.Join(debugRoot, dir, name)} {
		if candidate == path || !hasChecksum(candidate, sum) {
			continue
		}
		if d := openElf(candidate); d != nil {
			return d
		}
	}
	return nil
}

// debugLink reads .gnu_debuglink: a file name, padded with zeros to 4 bytes, and the file's CRC-32.
func debugLink(f *elf.File) (name string, sum uint32, ok bool) {
	s := f.Section(".gnu_debuglink")
	if s == nil || s.Size > 4096 {
		return "", 0, false
	}
	content, err := s.Data()
	end := bytes.IndexByte(content, 0)
	if err != nil || end <= 0 || len(content) < (end+4)&^3+4 {
		return "", 0, false
	}
	name = string(content[:end])
	return name, f.ByteOrder.Uint32(content[(end+4)&^3:]), name == filepath.Base(name)
}

func hasChecksum(path string, want uint32) bool {
	file, err := files.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	sum := crc32.NewIEEE()
	_, err = io.Copy(sum, file)
	return err == nil && sum.Sum32() == want
}

// openElf returns nil for what is no regular ELF file: opening a pipe would wait.
func openElf(path string) *elf.File {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := elf.Open(path)
	if err != nil {
		return nil
	}
	return f
}

func closeElf(f *elf.File) {
	if f != nil {
		f.Close()
	}
}
