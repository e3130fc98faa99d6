package prv

import (
	"fmt"

	"moriens/internal/mpicall"
)

const stateOthers = 15

// codeCall gives a function its event. A function that the table does not hold gets the next free value, remembered
// in foreign by its name; the .pcf distinguishes them.
func codeCall(function string, foreign map[string]int64) callCode {
	if id, ok := mpicall.ByName(function); ok {
		t, v := id.Paraver()
		return callCode{function, t, v, int64(id.ParaverState())}
	}
	name := oneLine(function)
	if name == "" {
		name = unknownCall
	}
	v, ok := foreign[name]
	if !ok {
		v = firstForeignCall + int64(len(foreign))
		foreign[name] = v
	}
	return callCode{name, typeMPIOther, v, stateOthers}
}

type callEvent struct {
	eventType uint32
	value     int64
}

var callByEvent = func() map[callEvent]string {
	m := make(map[callEvent]string)
	for _, id := range mpicall.All() {
		t, v := id.Paraver()
		m[callEvent{t, v}] = id.String()
	}
	return m
}()

// callName names the call of an event; the trace's own label is worth more than the table.
func callName(e callEvent, labels map[callEvent]string) string {
	name, ok := labels[e]
	if !ok {
		name, ok = callByEvent[e]
	}
	switch {
	case name == unknownCall:
		return ""
	case ok:
		return name
	}
	return fmt.Sprintf("MPI call %d:%d", e.eventType, e.value)
}
