package perfetto

import (
	"bufio"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// A sequence is the packets of one rank, or those that are of none. Names are written once in it and then go by
// numbers, which count in the order of their first use.
type sequence struct {
	id      uint64
	begun   bool
	numbers [4]map[string]uint64 // by kind
}

// What is interned, by its place in sequence.numbers.
const (
	categories = iota
	names
	keys
	texts
)

var internedFields = [4]protowire.Number{internedCategories, internedNames, internedKeys, internedTexts}

// A packetWriter puts packets together. All of its buffers are used again.
type packetWriter struct {
	out      *bufio.Writer // which keeps its first error for Flush
	seq      *sequence
	packet   []byte
	event    []byte
	interned []byte // what the event being made has brought up for the first time
	entry    []byte // an annotation
	scalar   []byte // its value
}

// begin starts a sequence; what comes next is of it.
func (w *packetWriter) begin(id uint64) {
	w.seq = &sequence{id: id}
	for i := range w.seq.numbers {
		w.seq.numbers[i] = make(map[string]uint64)
	}
}

// number gives a text its number in the sequence.
func (w *packetWriter) number(kind int, text string) uint64 {
	known := w.seq.numbers[kind]
	n, ok := known[text]
	if !ok {
		n = uint64(len(known)) + 1 // 0 means none
		known[text] = n
		entry := appendText(appendUint(nil, internedID, n), internedText, text)
		w.interned = appendBytes(w.interned, internedFields[kind], entry)
	}
	return n
}

// finish writes the packet that w.packet and w.event hold.
func (w *packetWriter) finish(content protowire.Number, timed bool, timeNS int64) {
	b := w.packet[:0]
	if timed {
		b = appendUint(b, packetTimestamp, uint64(timeNS))
	}
	b = appendUint(b, packetSequence, w.seq.id)
	flags := uint64(needsState)
	if !w.seq.begun {
		flags |= stateCleared
		w.seq.begun = true
	}
	b = appendUint(b, packetFlags, flags)
	if len(w.interned) > 0 {
		b = appendBytes(b, packetInterned, w.interned)
		w.interned = w.interned[:0]
	}
	b = appendBytes(b, content, w.event)
	w.packet, w.event = b, w.event[:0]
	w.entry = protowire.AppendVarint(protowire.AppendTag(w.entry[:0], tracePacket, protowire.BytesType), uint64(len(b)))
	w.out.Write(w.entry)
	w.out.Write(b)
}

// track writes a track descriptor that fill makes.
func (w *packetWriter) track(uuid uint64, fill func([]byte) []byte) {
	w.event = fill(appendUint(w.event[:0], trackUUID, uuid))
	w.finish(packetDescriptor, false, 0)
}

// open starts an event of a category and a name.
func (w *packetWriter) open(kind, track uint64, category, name string) {
	w.event = appendUint(appendUint(w.event[:0], eventType, kind), eventTrack, track)
	w.event = appendUint(w.event, eventCategory, w.number(categories, category))
	w.event = appendUint(w.event, eventName, w.number(names, name))
}

// close starts the event that ends the slice on a track.
func (w *packetWriter) close(track uint64) {
	w.event = appendUint(appendUint(w.event[:0], eventType, sliceEnd), eventTrack, track)
}

// at writes the event that was started.
func (w *packetWriter) at(timeNS int64) { w.finish(packetEvent, true, timeNS) }

// count writes the value of a counter track.
func (w *packetWriter) count(track uint64, timeNS int64, v float64) {
	w.event = appendUint(appendUint(w.event[:0], eventType, counter), eventTrack, track)
	w.event = appendFixed(w.event, eventCounter, math.Float64bits(v))
	w.at(timeNS)
}

// A dict is a list of annotations: those of an event, or the entries of an annotation that is a dictionary.
type dict struct {
	w     *packetWriter
	field protowire.Number
	b     []byte
}

// notes starts the annotations of the event that was started; done ends them.
func (w *packetWriter) notes() *dict { return &dict{w: w, field: eventAnnotation, b: w.event} }

func (d *dict) done() { d.w.event = d.b }

func (d *dict) value(key string, value []byte) {
	d.w.entry = append(appendUint(d.w.entry[:0], annotationKey, d.w.number(keys, key)), value...)
	d.b = appendBytes(d.b, d.field, d.w.entry)
}

func (d *dict) number(key string, field protowire.Number, v uint64) {
	d.w.scalar = appendUint(d.w.scalar[:0], field, v)
	d.value(key, d.w.scalar)
}

func (d *dict) int(key string, v int64) { d.number(key, annotationInt, uint64(v)) }
func (d *dict) text(key, v string)      { d.number(key, annotationText, d.w.number(texts, v)) }
func (d *dict) yes(key string)          { d.number(key, annotationBool, 1) }

func (d *dict) float(key string, v float64) {
	d.w.scalar = appendFixed(d.w.scalar[:0], annotationDouble, math.Float64bits(v))
	d.value(key, d.w.scalar)
}

// list writes an array of n dictionaries, which each fills.
func (d *dict) list(key string, n int, each func(i int, d *dict)) {
	var values []byte
	for i := range n {
		entries := dict{w: d.w, field: annotationEntries}
		each(i, &entries)
		values = appendBytes(values, annotationValues, entries.b)
	}
	d.value(key, values)
}
