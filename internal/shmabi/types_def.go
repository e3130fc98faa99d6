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
	SlotLost     = C.MORIENS_SLOT_LOST
	SlotReturned = C.MORIENS_SLOT_RETURNED
	SlotCounters = C.MORIENS_SLOT_COUNTERS
	SlotPolls    = C.MORIENS_SLOT_POLLS
	SlotEvents   = C.MORIENS_SLOT_EVENTS
	MaxEvents    = C.MORIENS_MAX_EVENTS
	NoCount      = C.MORIENS_NO_COUNT
)

const (
	LogModuleKind = C.MORIENS_LOG_MODULE
	LogPathKind   = C.MORIENS_LOG_PATH
	LogNoteKind   = C.MORIENS_LOG_NOTE
)

const (
	LogEntryBytes  = C.sizeof_struct_moriens_log_entry
	LogModuleBytes = C.sizeof_struct_moriens_log_module
	LogFrameBytes  = C.sizeof_struct_moriens_log_frame
	LogPathBytes   = C.sizeof_struct_moriens_log_path
)

type (
	Slot      C.struct_moriens_slot
	Counters  C.struct_moriens_counters
	Polls     C.struct_moriens_polls
	Ring      C.struct_moriens_ring
	Process   C.struct_moriens_process
	LogEntry  C.struct_moriens_log_entry
	LogModule C.struct_moriens_log_module
	LogFrame  C.struct_moriens_log_frame
	LogPath   C.struct_moriens_log_path
)
