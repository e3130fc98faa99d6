package perfetto

import "google.golang.org/protobuf/encoding/protowire"

// Field numbers of Perfetto's messages, as far as they are written. docs/format/perfetto.md has them as a table.
const (
	tracePacket = 1 // of Trace

	packetTimestamp  = 8
	packetSequence   = 10 // trusted_packet_sequence_id
	packetEvent      = 11 // track_event
	packetInterned   = 12 // interned_data
	packetFlags      = 13 // sequence_flags
	packetDescriptor = 60 // track_descriptor

	eventCategory    = 3 // category_iids
	eventAnnotation  = 4 // debug_annotations
	eventType        = 9
	eventName        = 10 // name_iid
	eventTrack       = 11 // track_uuid
	eventCounter     = 44 // double_counter_value
	eventFlow        = 47 // flow_ids
	eventTerminating = 48 // terminating_flow_ids

	trackUUID     = 1
	trackName     = 2
	trackProcess  = 3
	trackThread   = 4
	trackParent   = 5
	trackCounter  = 8
	trackOrdering = 11 // child_ordering
	trackRank     = 12 // sibling_order_rank
	trackOrder    = 19 // process_ordering

	processPID     = 1
	processCommand = 2 // cmdline
	processSort    = 3 // legacy_sort_index
	processName    = 6

	threadPID  = 1
	threadTID  = 2
	threadName = 5

	counterUnitName = 6

	internedCategories = 1  // event_categories
	internedNames      = 2  // event_names
	internedKeys       = 3  // debug_annotation_names
	internedTexts      = 29 // debug_annotation_string_values
	internedID         = 1
	internedText       = 2

	annotationKey     = 1 // name_iid
	annotationBool    = 2
	annotationInt     = 4
	annotationDouble  = 5
	annotationText    = 17 // string_value_iid
	annotationEntries = 11 // dict_entries
	annotationValues  = 12 // array_values
)

// Values of eventType.
const (
	sliceBegin = 1
	sliceEnd   = 2
	instant    = 3
	counter    = 4
)

// Bits of packetFlags.
const (
	stateCleared = 1
	needsState   = 2
)

// Values of trackOrdering and trackOrder.
const (
	orderExplicit = 3
	orderRanked   = 1
)

func appendUint(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func appendText(b []byte, field protowire.Number, v string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), v)
}

func appendBytes(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}

func appendFixed(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), v)
}
