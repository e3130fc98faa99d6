package points

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// The format is that of NumPy enhancement proposal 1: magic, version, length of the header, and the
// header, a Python dictionary with the keys descr, fortran_order and shape.
const npyMagic = "\x93NUMPY"

var (
	descrField   = regexp.MustCompile(`'descr'\s*:\s*'([^']*)'`)
	fortranField = regexp.MustCompile(`'fortran_order'\s*:\s*(True|False)`)
	shapeField   = regexp.MustCompile(`'shape'\s*:\s*\(([^)]*)\)`)
)

// npyHeader is what has to be known of the numbers.
type npyHeader struct {
	size       int // bytes of a number
	order      binary.ByteOrder
	byColumns  bool
	rows, dims int
}

func readNPY(r *bufio.Reader, fileSize int64) (Matrix, error) {
	h, err := readHeader(r)
	if err != nil {
		return Matrix{}, badHeader(err)
	}
	if h.rows == 0 || h.dims == 0 {
		return Matrix{}, errEmpty
	}
	// The header may claim anything: memory is taken for the data that is there, not for what is promised.
	total := h.rows * h.dims
	m := Matrix{Dims: h.dims, Coords: make([]float64, 0, min(total, max(1<<16, int(fileSize)/h.size)))}
	buffer := make([]byte, 1<<16)
	for len(m.Coords) < total {
		want := buffer[:h.size*min(len(buffer)/h.size, total-len(m.Coords))]
		n, err := io.ReadFull(r, want)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return m, err
		}
		if n < len(want) {
			return m, h.truncated(len(m.Coords) + n/h.size)
		}
		if m.Coords, err = h.numbers(m.Coords, want, len(m.Coords)); err != nil {
			return m, err
		}
	}
	if _, err := r.ReadByte(); err != io.EOF {
		return m, h.tooLong()
	}
	if h.byColumns {
		m.Coords = byRows(m.Coords, h.rows, h.dims)
	}
	return m, nil
}

func badHeader(err error) error { return fmt.Errorf(".npy header: %w", err) }

func (h *npyHeader) truncated(numbers int) error {
	return fmt.Errorf("truncated: %d of %d numbers", numbers, h.rows*h.dims)
}

func (h *npyHeader) tooLong() error {
	return fmt.Errorf("more than the %d × %d numbers of its shape", h.rows, h.dims)
}

// numbers appends the numbers of b, of which the first is the file's number at, from 0.
func (h *npyHeader) numbers(to []float64, b []byte, at int) ([]float64, error) {
	for ; len(b) > 0; b = b[h.size:] {
		v := h.number(b)
		if v-v != 0 {
			row, column := at/h.dims, at%h.dims
			if h.byColumns {
				row, column = at%h.rows, at/h.rows
			}
			return to, check(v, "row", row, column)
		}
		to = append(to, v)
		at++
	}
	return to, nil
}

func (h *npyHeader) number(b []byte) float64 {
	if h.size == 4 {
		return float64(math.Float32frombits(h.order.Uint32(b)))
	}
	return math.Float64frombits(h.order.Uint64(b))
}

func byRows(columns []float64, rows, dims int) []float64 {
	out := make([]float64, len(columns))
	for j := range dims {
		for i := range rows {
			out[i*dims+j] = columns[j*rows+i]
		}
	}
	return out
}

func readHeader(r *bufio.Reader) (h npyHeader, err error) {
	var start [len(npyMagic) + 2]byte
	if _, err := io.ReadFull(r, start[:]); err != nil {
		return h, errors.New("truncated")
	}
	length := make([]byte, 2)
	switch major := start[len(npyMagic)]; major {
	case 1:
	case 2, 3:
		length = make([]byte, 4)
	default:
		return h, fmt.Errorf("version %d is not known", major)
	}
	if _, err := io.ReadFull(r, length); err != nil {
		return h, errors.New("truncated")
	}
	size := uint32(binary.LittleEndian.Uint16(length))
	if len(length) == 4 {
		size = binary.LittleEndian.Uint32(length)
	}
	const most = 1 << 16
	if size > most {
		return h, fmt.Errorf("%d bytes long", size)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(r, text); err != nil {
		return h, errors.New("truncated")
	}
	return parseHeader(string(text))
}

func parseHeader(text string) (h npyHeader, err error) {
	descr, fortran, shape := descrField.FindStringSubmatch(text), fortranField.FindStringSubmatch(text), shapeField.FindStringSubmatch(text)
	if descr == nil || fortran == nil || shape == nil {
		return h, errors.New("no descr, fortran_order or shape")
	}
	switch descr[1] {
	case "<f4", ">f4":
		h.size = 4
	case "<f8", ">f8":
		h.size = 8
	default:
		return h, fmt.Errorf("numbers of type %q: want float32 or float64", descr[1])
	}
	h.order = binary.LittleEndian
	if descr[1][0] == '>' {
		h.order = binary.BigEndian
	}
	h.byColumns = fortran[1] == "True"
	var lengths []int
	for _, field := range strings.Split(shape[1], ",") {
		if field = strings.TrimSpace(field); field == "" {
			continue
		}
		n, err := strconv.Atoi(field)
		if err != nil || n < 0 || n > math.MaxInt32 {
			return h, fmt.Errorf("shape (%s): want rows and dimensions", shape[1])
		}
		lengths = append(lengths, n)
	}
	switch len(lengths) {
	case 1:
		h.rows, h.dims = lengths[0], 1
	case 2:
		h.rows, h.dims = lengths[0], lengths[1]
	default:
		return h, fmt.Errorf("shape (%s): want rows and dimensions", shape[1])
	}
	return h, nil
}
