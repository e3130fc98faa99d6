package otf2

// An event goes to the C part as it is: archive.h has the same layout.
type event struct {
	timeNS  int64
	kind    uint32
	ref     uint32    // what it is of: region, metric, communicator, parameter
	args    [5]uint64 // by kind
	attr    [6]uint64
	attrRef [6]uint32
	attrs   uint32 // how many attributes there are
}

// Kinds of events, with their args.
const (
	eventEnter = iota
	eventLeave
	eventValues // (no event by itself) as many values as ref says, int64s, for the metric that follows
	eventMetric
	eventSend           // receiver, tag, bytes
	eventIsend          // receiver, tag, bytes, request
	eventRecv           // sender, tag, bytes
	eventIrecvRequest   // request
	eventIrecv          // sender, tag, bytes, request
	eventCollective     // (begin)
	eventCollectiveEnd  // operation, root, sent, received
	eventNonBlocking    // (request) request
	eventNonBlockingEnd // operation, root, sent, received, request
	eventMeasurement    // on or off
	eventString         // string
	eventInt            // value, an int64
)

func (e *event) attribute(ref uint32, value uint64) {
	e.attrRef[e.attrs], e.attr[e.attrs] = ref, value
	e.attrs++
}
