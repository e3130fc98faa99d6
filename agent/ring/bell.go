package ring

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Bell shows when processes of a run want to be read: one whose ring is half full, or that waits at the end of MPI
// for its rings to be read, touches its file, and a new file gets its name.
type Bell struct {
	file *os.File
	rung chan struct{}
	news chan struct{}
}

// Bell watches the directory, which must be there. An error means that the kernel has none to give: the reader of rings
// then has to poll often.
func (d *Directory) Bell() (*Bell, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("ring: inotify: %w", err)
	}
	if _, err := unix.InotifyAddWatch(fd, d.path, unix.IN_ATTRIB|unix.IN_MOVED_TO|unix.IN_ONLYDIR); err != nil {
		return nil, errors.Join(fmt.Errorf("ring: watch %s: %w", d.path, err), unix.Close(fd))
	}
	b := &Bell{file: os.NewFile(uintptr(fd), "inotify"), rung: make(chan struct{}, 1), news: make(chan struct{}, 1)}
	go b.listen()
	return b, nil
}

// Rung receives when a process asks to be read, at once or since the last time. It is nil for no Bell.
func (b *Bell) Rung() <-chan struct{} {
	if b == nil {
		return nil
	}
	return b.rung
}

// News gets something when there are new files, likewise.
func (b *Bell) News() <-chan struct{} {
	if b == nil {
		return nil
	}
	return b.news
}

// listen ends with Close.
func (b *Bell) listen() {
	events := make([]byte, 64*(unix.SizeofInotifyEvent+unix.NAME_MAX+1))
	for {
		n, err := b.file.Read(events)
		if err != nil {
			return
		}
		rung, news := false, false
		for rest := events[:n]; len(rest) >= unix.SizeofInotifyEvent; {
			e := (*unix.InotifyEvent)(unsafe.Pointer(&rest[0]))
			rung = rung || e.Mask&(unix.IN_ATTRIB|unix.IN_Q_OVERFLOW) != 0
			news = news || e.Mask&(unix.IN_MOVED_TO|unix.IN_Q_OVERFLOW) != 0
			rest = rest[min(len(rest), unix.SizeofInotifyEvent+int(e.Len)):]
		}
		if rung {
			give(b.rung)
		}
		if news {
			give(b.news)
		}
	}
}

func give(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default: // there is one that was not taken yet
	}
}

// Close ends the watch.
func (b *Bell) Close() {
	if b != nil {
		b.file.Close()
	}
}
