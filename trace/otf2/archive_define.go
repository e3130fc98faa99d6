//go:build otf2 && cgo

package otf2

/*
#include <stdlib.h>
#include "archive.h"
*/
import "C"

import "unsafe"

// define writes what the events refer to. It comes behind the last event.
func (a *archive) define(d *definitions) error {
	var ids *C.uint64_t
	if len(a.ids) > 0 {
		ids = &a.ids[0]
	}
	if err := failure(C.archive_definitions(a.c, ids, C.size_t(len(a.ids)))); err != nil {
		return err
	}
	w := definer{w: a.c.definitions}
	w.put(C.OTF2_GlobalDefWriter_WriteClockProperties(w.w, 1e9, 0, C.uint64_t(d.durationNS), C.uint64_t(d.start)))
	for i, text := range d.strings.list {
		s := C.CString(text)
		w.put(C.OTF2_GlobalDefWriter_WriteString(w.w, C.OTF2_StringRef(i), s))
		C.free(unsafe.Pointer(s))
	}
	w.put(C.OTF2_GlobalDefWriter_WriteParadigm(w.w, C.OTF2_PARADIGM_MPI, C.OTF2_StringRef(d.mpi), C.OTF2_PARADIGM_CLASS_PROCESS))
	for i, x := range d.attributes {
		w.put(C.OTF2_GlobalDefWriter_WriteAttribute(w.w, C.OTF2_AttributeRef(i), C.OTF2_StringRef(x.name), C.OTF2_StringRef(x.about), C.OTF2_Type(x.kind)))
	}
	w.places(d)
	w.calls(d)
	for i, x := range d.metrics {
		papi := C.int(0)
		if x.papi {
			papi = 1
		}
		w.put(C.archive_member(a.c, C.uint32_t(i), C.uint32_t(x.name), C.uint32_t(x.unit), papi, C.uint8_t(x.mode)))
	}
	for i, x := range d.classes {
		w.put(C.archive_class(a.c, C.uint32_t(i), (*C.uint32_t)(unsafe.Pointer(&x.members[0])), C.uint8_t(len(x.members)), C.uint8_t(x.occurrence)))
	}
	for i, x := range d.parameters {
		w.put(C.OTF2_GlobalDefWriter_WriteParameter(w.w, C.OTF2_ParameterRef(i), C.OTF2_StringRef(x.name), C.OTF2_ParameterType(x.kind)))
	}
	w.comms(d)
	return w.err
}

// A definer keeps the first error.
type definer struct {
	w   *C.OTF2_GlobalDefWriter
	err error
}

func (w *definer) put(code C.OTF2_ErrorCode) {
	if w.err == nil {
		w.err = failure(code)
	}
}

func (w *definer) places(d *definitions) {
	for i, x := range d.nodes {
		w.put(C.OTF2_GlobalDefWriter_WriteSystemTreeNode(w.w, C.OTF2_SystemTreeNodeRef(i), C.OTF2_StringRef(x.name), C.OTF2_StringRef(x.class), C.OTF2_SystemTreeNodeRef(x.parent)))
	}
	for i, x := range d.processes {
		w.put(C.OTF2_GlobalDefWriter_WriteLocationGroup(w.w, C.OTF2_LocationGroupRef(i), C.OTF2_StringRef(x.name), C.OTF2_LOCATION_GROUP_TYPE_PROCESS, C.OTF2_SystemTreeNodeRef(x.node), undefined))
	}
	for _, x := range d.locations {
		w.put(C.OTF2_GlobalDefWriter_WriteLocation(w.w, C.OTF2_LocationRef(x.id), C.OTF2_StringRef(x.name), C.OTF2_LOCATION_TYPE_CPU_THREAD, C.uint64_t(x.events), C.OTF2_LocationGroupRef(x.process)))
	}
}

func (w *definer) calls(d *definitions) {
	for i, x := range d.regions {
		w.put(C.OTF2_GlobalDefWriter_WriteRegion(w.w, C.OTF2_RegionRef(i), C.OTF2_StringRef(x.name), C.OTF2_StringRef(x.name), C.OTF2_StringRef(x.about),
			C.OTF2_RegionRole(x.role), C.OTF2_Paradigm(x.paradigm), C.OTF2_REGION_FLAG_NONE, 0, 0, 0))
	}
	for i, x := range d.sources {
		w.put(C.OTF2_GlobalDefWriter_WriteSourceCodeLocation(w.w, C.OTF2_SourceCodeLocationRef(i), C.OTF2_StringRef(x.file), C.uint32_t(x.line)))
	}
	for i, x := range d.contexts {
		w.put(C.OTF2_GlobalDefWriter_WriteCallingContext(w.w, C.OTF2_CallingContextRef(i), C.OTF2_RegionRef(x.region), C.OTF2_SourceCodeLocationRef(x.source), C.OTF2_CallingContextRef(x.parent)))
	}
}

func (w *definer) comms(d *definitions) {
	for i, x := range d.groups {
		var members *C.uint64_t
		if len(x.members) > 0 {
			members = (*C.uint64_t)(unsafe.Pointer(&x.members[0]))
		}
		w.put(C.OTF2_GlobalDefWriter_WriteGroup(w.w, C.OTF2_GroupRef(i), C.OTF2_StringRef(x.name), C.OTF2_GroupType(x.kind), C.OTF2_PARADIGM_MPI, C.OTF2_GROUP_FLAG_NONE, C.uint32_t(len(x.members)), members))
	}
	for i, x := range d.comms {
		w.put(C.OTF2_GlobalDefWriter_WriteComm(w.w, C.OTF2_CommRef(i), C.OTF2_StringRef(x.name), C.OTF2_GroupRef(x.group), undefined, C.OTF2_COMM_FLAG_NONE))
	}
}
