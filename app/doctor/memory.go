package doctor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"moriens/agent/ring"
	"moriens/internal/shmabi"
)

// What the library takes by default: cshim/src/options.c and run.c.
const (
	usualRing   = 2 << 20
	smallRing   = 64 << 10
	largestRing = 1 << 30
	usualLog    = 8192 * (shmabi.LogPathBytes + shmabi.LogFrameBytes)
	smallLog    = 16 << 10
)

var memoryTypes = map[int64]string{
	unix.TMPFS_MAGIC: "tmpfs", unix.RAMFS_MAGIC: "ramfs", unix.OVERLAYFS_SUPER_MAGIC: "overlay", unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs",
	unix.BTRFS_SUPER_MAGIC: "btrfs", unix.NFS_SUPER_MAGIC: "nfs",
}

func probeMemory(c Config, cpus int) Memory {
	m := Memory{
		Path: c.Shm, Ranks: c.Ranks, RanksWereSaid: c.Ranks > 0, CPUs: cpus,
		RingBytes: shmabi.HeaderBytes + ringBytes(os.Getenv("MORIENS_RING")), ProcessBytes: shmabi.HeaderBytes + usualLog,
		MinimumBytes: 2*shmabi.HeaderBytes + smallRing + smallLog,
	}
	if c.Ranks == 0 {
		m.Ranks = cpus
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(c.Shm, &fs); err != nil {
		m.Error = errnoText(err)
		return m
	}
	if info, err := os.Stat(c.Shm); err != nil || !info.IsDir() {
		m.Error = "it is not a directory"
		return m
	}
	m.Type = memoryTypes[int64(fs.Type)]
	if m.Type == "" {
		m.Type = fmt.Sprintf("file system %#x", fs.Type)
	}
	m.InMemory = m.Type == "tmpfs" || m.Type == "ramfs"
	m.NoExec = fs.Flags&unix.ST_NOEXEC != 0
	m.Bytes, m.Free = fs.Blocks*uint64(fs.Bsize), fs.Bavail*uint64(fs.Bsize)
	m.Write = errnoText(tryFile(c.Shm))
	m.Leftovers, _ = ring.Leftovers(c.Shm, os.Getuid())
	return m
}

func errnoText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// ringBytes is what the library makes of MORIENS_RING: the next smaller power of two.
func ringBytes(text string) uint64 {
	wanted, err := strconv.ParseUint(text, 10, 64)
	if err != nil || wanted == 0 {
		return usualRing
	}
	bytes := uint64(smallRing)
	for bytes*2 <= wanted && bytes < largestRing {
		bytes *= 2
	}
	return bytes
}

// tryFile does what the library does first: it makes a file for the smallest ring, allocates and maps it. The file is
// gone again at once.
func tryFile(dir string) error {
	path := filepath.Join(dir, fmt.Sprintf("moriens-doctor-%d", os.Getpid()))
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return errors.Unwrap(err) // without the name
	}
	defer file.Close()
	os.Remove(path)
	const bytes = shmabi.HeaderBytes + smallRing
	if err := unix.Fallocate(int(file.Fd()), 0, 0, bytes); err != nil {
		return fmt.Errorf("allocate %d bytes: %w", bytes, err)
	}
	memory, err := unix.Mmap(int(file.Fd()), 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map it: %w", err)
	}
	memory[0] = 1
	return unix.Munmap(memory)
}
