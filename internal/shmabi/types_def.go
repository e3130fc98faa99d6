//go:build ignore

package shmabi

/*
#include "../../cshim/include/shim_abi.h"
*/
import "C"

const (
	Version      = C.MORIENS_ABI_VERSION
	ProcessMagic = C.MORIENS_PROCESS_MAGIC
	RingMagic    = C.MORIENS_RING_MAGIC
	HeaderBytes  = C.MORIENS_HEADER_BYTES
	SlotBytes    = C.MORIENS_SLOT_BYTES
	RingSegments = C.MORIENS_RING_SEGMENTS
)

const (
	ClockTSC          = C.MORIENS_CLOCK_TSC
	ClockCNTVCT       = C.MORIENS_CLOCK_CNTVCT
	ClockMonotonicRaw = C.MORIENS_CLOCK_MONOTONIC_RAW
)

const (
	ProcessSetup     = C.MORIENS_PROCESS_SETUP
	ProcessRunning   = C.MORIENS_PROCESS_RUNNING
	ProcessFinalized = C.MORIENS_PROCESS_FINALIZED
	ProcessAborted   = C.MORIENS_PROCESS_ABORTED
)

const (
	RingOpen   = C.MORIENS_RING_OPEN
	RingClosed = C.MORIENS_RING_CLOSED
)

const (
	SlotLost       = C.MORIENS_SLOT_LOST
	SlotReturned   = C.MORIENS_SLOT_RETURNED
	SlotCounters   = C.MORIENS_SLOT_COUNTERS
	SlotPolls      = C.MORIENS_SLOT_POLLS
	SlotPaused     = C.MORIENS_SLOT_PAUSED
	SlotSent       = C.MORIENS_SLOT_SENT
	SlotReceived   = C.MORIENS_SLOT_RECEIVED
	SlotProbed     = C.MORIENS_SLOT_PROBED
	SlotPut        = C.MORIENS_SLOT_PUT
	SlotGot        = C.MORIENS_SLOT_GOT
	SlotWritten    = C.MORIENS_SLOT_WRITTEN
	SlotRead       = C.MORIENS_SLOT_READ
	SlotCollective = C.MORIENS_SLOT_COLLECTIVE
	SlotRequest    = C.MORIENS_SLOT_REQUEST
	SlotEvents     = C.MORIENS_SLOT_EVENTS
	MaxEvents      = C.MORIENS_MAX_EVENTS
	NoCount        = C.MORIENS_NO_COUNT
)

const (
	RankAny      = C.MORIENS_ANY
	RankProcNull = C.MORIENS_PROC_NULL
	RankRoot     = C.MORIENS_ROOT
)

const (
	RequestMade      = C.MORIENS_REQUEST_MADE
	RequestStarted   = C.MORIENS_REQUEST_STARTED
	RequestCompleted = C.MORIENS_REQUEST_COMPLETED
	RequestCancelled = C.MORIENS_REQUEST_CANCELLED
	RequestFreed     = C.MORIENS_REQUEST_FREED
	RequestMatched   = C.MORIENS_REQUEST_MATCHED

	BytesUnknown = C.MORIENS_BYTES_UNKNOWN
)

const (
	MarkBegin = C.MORIENS_MARK_BEGIN
	MarkEnd   = C.MORIENS_MARK_END
	MarkEvent = C.MORIENS_MARK_EVENT
)

const (
	CommInter   = C.MORIENS_COMM_INTER
	CommWindow  = C.MORIENS_COMM_WINDOW
	CommFile    = C.MORIENS_COMM_FILE
	CommGuessed = C.MORIENS_COMM_GUESSED
	CommCut     = C.MORIENS_COMM_CUT
	CommMet     = C.MORIENS_COMM_MET
)

const (
	OriginDerived   = C.MORIENS_ORIGIN_DERIVED
	OriginSpawned   = C.MORIENS_ORIGIN_SPAWNED
	OriginParent    = C.MORIENS_ORIGIN_PARENT
	OriginAccepted  = C.MORIENS_ORIGIN_ACCEPTED
	OriginConnected = C.MORIENS_ORIGIN_CONNECTED
	OriginJoined    = C.MORIENS_ORIGIN_JOINED
)

const (
	LogModuleKind = C.MORIENS_LOG_MODULE
	LogPathKind   = C.MORIENS_LOG_PATH
	LogNoteKind   = C.MORIENS_LOG_NOTE
	LogCommKind   = C.MORIENS_LOG_COMM
	LogNameKind   = C.MORIENS_LOG_NAME
	LogUnseenKind = C.MORIENS_LOG_UNSEEN
	LogPlaceKind  = C.MORIENS_LOG_PLACE
)

const (
	LogEntryBytes  = C.sizeof_struct_moriens_log_entry
	LogModuleBytes = C.sizeof_struct_moriens_log_module
	LogFrameBytes  = C.sizeof_struct_moriens_log_frame
	LogPathBytes   = C.sizeof_struct_moriens_log_path
	LogCommBytes   = C.sizeof_struct_moriens_log_comm
	LogRanksBytes  = C.sizeof_struct_moriens_log_ranks
	LogNameBytes   = C.sizeof_struct_moriens_log_name
	LogOriginBytes = C.sizeof_struct_moriens_log_origin
	LogPlaceBytes  = C.sizeof_struct_moriens_log_place
)

type (
	Slot       C.struct_moriens_slot
	Counters   C.struct_moriens_counters
	Polls      C.struct_moriens_polls
	Transfer   C.struct_moriens_transfer
	Collective C.struct_moriens_collective
	Request    C.struct_moriens_request
	Mark       C.struct_moriens_mark
	Segment    C.struct_moriens_ring_segment
	Ring       C.struct_moriens_ring
	Process    C.struct_moriens_process
	LogEntry   C.struct_moriens_log_entry
	LogModule  C.struct_moriens_log_module
	LogFrame   C.struct_moriens_log_frame
	LogPath    C.struct_moriens_log_path
	LogComm    C.struct_moriens_log_comm
	LogRanks   C.struct_moriens_log_ranks
	LogName    C.struct_moriens_log_name
	LogOrigin  C.struct_moriens_log_origin
	LogPlace   C.struct_moriens_log_place
)
