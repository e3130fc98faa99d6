package main

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A meaning is what a wrapper passes to the shim about its call, as C statements in which the call's parameters have
// the names of their roles and its result is result. The functions are those of cshim/src/meaning.h.
type meaning struct {
	given     []string // at the entry
	succeeded []string // at the exit, if the call has
	failed    []string // likewise
	returned  []string // at the exit in any case
}

func (m *meaning) give(format string, args ...any) {
	m.given = append(m.given, fmt.Sprintf(format, args...))
}
func (m *meaning) succeed(format string, args ...any) {
	m.succeeded = append(m.succeeded, fmt.Sprintf(format, args...))
}
func (m *meaning) fail(format string, args ...any) {
	m.failed = append(m.failed, fmt.Sprintf(format, args...))
}
func (m *meaning) back(format string, args ...any) {
	m.returned = append(m.returned, fmt.Sprintf(format, args...))
}

// A block is statements that are executed on a condition.
type block struct {
	condition  string
	statements []string
}

// atEntry and atExit give those before the call and behind it.
func (m meaning) atEntry() []block {
	return []block{{"moriens_outermost(&span)", m.given}}
}

func (m meaning) atExit() []block {
	return []block{{"moriens_succeeded(&span, result)", m.succeeded}, {"moriens_failed(&span, result)", m.failed}, {"moriens_returned(&span)", m.returned}}
}

// lines writes blocks as C code of that indentation.
func lines(b *bytes.Buffer, indent string, blocks []block) {
	for _, block := range blocks {
		switch len(block.statements) {
		case 0:
		case 1:
			fmt.Fprintf(b, "%sif (%s)\n%s\t%s;\n", indent, block.condition, indent, block.statements[0])
		default:
			fmt.Fprintf(b, "%sif (%s) {\n%s\t%s;\n%s}\n", indent, block.condition, indent, strings.Join(block.statements, ";\n"+indent+"\t"), indent)
		}
	}
}

// none is a statement that does nothing.
const none = "(void)0"

// argument writes blocks as an argument of a macro that takes a statement.
func argument(blocks []block) string {
	var all []string
	for _, block := range blocks {
		if len(block.statements) != 0 {
			all = append(all, fmt.Sprintf("if (%s) { %s; }", block.condition, strings.Join(block.statements, "; ")))
		}
	}
	if len(all) == 0 {
		return none
	}
	return strings.Join(all, " ")
}

func (c call) has(role string) bool { return slices.Contains(c.params, role) }

// first gives the first of the roles that the call has.
func (c call) first(roles ...string) string {
	for _, role := range roles {
		if c.has(role) {
			return role
		}
	}
	return ""
}

// base is the name of the blocking ordinary form, in lower case.
func (c call) base() string {
	name := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(c.name, "MPI_"), "_c"), "_init")
	if c.has("request") && strings.HasPrefix(name, "I") {
		name = name[1:]
	}
	return strings.ToLower(name)
}

const collectiveEvent = 50000002

var (
	shapes = []string{"bcast", "gather", "scatter", "allgather", "alltoall", "reduce", "allreduce", "reduce_scatter", "scan", "exscan",
		"neighbor_allgather", "neighbor_alltoall"}
	// fileCollective are the calls on a file that all its processes make together (MPI-5.0, chapter 14).
	fileCollective = regexp.MustCompile(`^MPI_File_(close|preallocate|sync|seek_shared|set_.*|i?(read|write)_(at_)?(all|ordered).*)$`)
)

// shape names what a collective call moves by its function; v and w forms move like the ordinary one.
func (c call) shape() string {
	name := strings.TrimSuffix(c.base(), "_block")
	for _, s := range shapes {
		if name == s || strings.TrimRight(name, "vw") == s {
			return "MORIENS_SHAPE_" + strings.ToUpper(s)
		}
	}
	return "MORIENS_SHAPE_NONE"
}

// meaningOf derives the meaning from the roles, and from the name where functions with the same roles differ.
func meaningOf(c call, r reader) meaning {
	var m meaning
	r.large = strings.HasSuffix(c.name, "_c")
	switch {
	case c.eventType == collectiveEvent:
		c.moveTogether(&m, r)
	case c.class == "communicator" || c.class == "process" || c.class == "session":
		c.makeComm(&m, r)
	case c.has("win"):
		c.useWindow(&m, r)
	case c.has("file"):
		c.useFile(&m, r)
	case c.class == "completion" || c.name == "MPI_Start" || c.name == "MPI_Startall":
		c.useRequests(&m, r)
	case c.class == "point-to-point" || c.first("dest", "source") != "":
		c.move(&m, r)
	case c.class == "buffer" && c.has("request"):
		m.succeed("moriens_made_request(&span, %s)", r.request("request"))
	}
	if slices.ContainsFunc(m.given, func(s string) bool { return strings.HasPrefix(s, "moriens_collective") }) {
		m.fail("moriens_uncount(result)")
	}
	return m
}

// move is point-to-point.
func (c call) move(m *meaning, r reader) {
	if c.has("message") && c.has("buf") {
		m.give("moriens_matched(&span, %s, %s, %s)", r.count("count"), r.handle("type"), r.message("message"))
	} else {
		c.moveTo(m, r, direction{slot: "SENT", peer: "dest", count: c.first("scount", "count"), typ: c.first("stype", "type"), tag: c.first("stag", "tag")})
		c.moveTo(m, r, direction{slot: "RECEIVED", peer: "source", count: c.first("rcount", "count"), typ: c.first("rtype", "type"), tag: c.first("rtag", "tag")})
	}
	if c.found() != "" { // of a poll that finds nothing, nothing is recorded
		m.succeeded, m.given = m.given, nil
	} else {
		m.fail("moriens_unsettled(&span, result)")
	}
	if c.has("status") {
		m.give("status = moriens_status(status, %s)", r.binding())
		m.succeed("moriens_received(&span, status)")
	}
	switch {
	case c.has("request"):
		m.succeed("moriens_requested(&span, %s)", r.request("request"))
	case c.has("message") && !c.has("buf"):
		m.succeed("moriens_requested(&span, %s)", r.message("message"))
	}
	if c.has("dest") && c.has("source") && c.has("request") {
		m.succeed("moriens_asked(&span, %s)", r.request("request"))
	}
	if c.class != "point-to-point" {
		m.succeed("moriens_persistent(&span, %s)", r.request("request"))
	}
}

// A direction of a point-to-point call: what its slot is called, and which parameters it has, "" = none.
type direction struct{ slot, peer, count, typ, tag string }

// moveTo is one direction of it, to or from the rank of a role that the call may not have.
func (c call) moveTo(m *meaning, r reader, d direction) {
	switch {
	case !c.has(d.peer):
	case d.count == "":
		m.give("moriens_probe(&span, %s, %s, %s)", r.integer(d.peer), r.integer(d.tag), r.reference("comm"))
	case c.has("partitions"):
		m.give("moriens_transfer_parts(&span, MORIENS_SLOT_%s, %s, %s, %s, %s, %s, %s)", d.slot, r.integer("partitions"), r.count(d.count), r.handle(d.typ), r.integer(d.peer), r.integer(d.tag), r.reference("comm"))
	default:
		m.give("moriens_transfer(&span, MORIENS_SLOT_%s, %s, %s, %s, %s, %s)", d.slot, r.count(d.count), r.handle(d.typ), r.integer(d.peer), r.integer(d.tag), r.reference("comm"))
	}
}

// moveTogether is a collective.
func (c call) moveTogether(m *meaning, r reader) {
	m.give("moriens_collective(&span, %s, %s, %s, %s, %s)", c.shape(), r.reference("comm"), c.root(r), c.side(r, "s"), c.side(r, "r"))
	if c.has("request") {
		m.succeed("moriens_made_request(&span, %s)", r.request("request"))
	}
	if c.class == "persistent" {
		m.succeed("moriens_persistent(&span, %s)", r.request("request"))
	}
}

func (c call) root(r reader) string {
	if c.has("root") {
		return r.integer("root")
	}
	return "MORIENS_NOBODY"
}

// side is what a collective call sends (s) or receives (r). What has no letter is sent where all get it from the root,
// else it is the count of what is received, and of what is sent as well.
func (c call) side(r reader, letter string) string {
	plain := (letter == "s") == c.has("buf")
	find := func(role string) string {
		if c.has(letter + role) {
			return letter + role
		}
		if plain && c.has(role) {
			return role
		}
		return ""
	}
	read := func(role, none string, how func(string) string) string {
		if name := find(role); name != "" {
			return how(name)
		}
		return none
	}
	if find("count") == "" && find("counts") == "" {
		return "NULL"
	}
	return fmt.Sprintf("MORIENS_SIDE(%s, %s, %s, %s, %s, %s)", read("buf", "0", r.buffer), read("count", "0", r.count), read("counts", "MORIENS_NO_ARRAY", r.counts),
		read("type", "0", r.handle), read("types", "MORIENS_NO_ARRAY", r.types), r.binding())
}

// makeComm is what makes, frees or changes communicators.
func (c call) makeComm(m *meaning, r reader) {
	switch c.name {
	case "MPI_Comm_free", "MPI_Comm_disconnect":
		m.give("moriens_collective_of(&span, %s, MORIENS_NOBODY)", r.referenceAt("comm"))
		m.succeed("moriens_freed()")
	case "MPI_Comm_create_group": // is no matter of all of comm
		m.succeed("moriens_made_by_group(%s, %s, %s)", r.referenceAt("newcomm"), r.reference("comm"), r.integer("tag"))
	case "MPI_Intercomm_create":
		m.give("moriens_collective_of(&span, %s, MORIENS_NOBODY)", r.reference("comm"))
		m.succeed("moriens_made_between(%s, %s)", r.referenceAt("newcomm"), r.integer("tag"))
	case "MPI_Comm_join":
		m.succeed("moriens_joined(&span, %s)", r.referenceAt("newcomm"))
	case "MPI_Comm_spawn", "MPI_Comm_spawn_multiple":
		m.give("moriens_collective_of(&span, %s, %s)", r.reference("comm"), c.root(r))
		m.succeed("moriens_spawned(&span, %s, %s)", r.referenceAt("newcomm"), c.root(r))
	case "MPI_Comm_accept", "MPI_Comm_connect":
		m.give("moriens_collective_of(&span, %s, %s)", r.reference("comm"), c.root(r))
		length := "MORIENS_OWN_END"
		if r.fortran {
			length = "moriens_trimmed(port, port_length)"
		}
		m.succeed("moriens_%sed(&span, %s, %s, (const char *)port, %s)", strings.TrimPrefix(c.name, "MPI_Comm_"), r.referenceAt("newcomm"), c.root(r), length)
	case "MPI_Comm_create_from_group", "MPI_Intercomm_create_from_groups":
		length := r.pick("strlen((const char *)%s)", "moriens_trimmed(%[1]s, %[1]s_length)", "stringtag")
		m.succeed("moriens_made_by_text(%s, (const char *)stringtag, %s)", r.referenceAt("newcomm"), length)
	default:
		c.makeCommTogether(m, r)
	}
}

func (c call) makeCommTogether(m *meaning, r reader) {
	if !c.has("comm") {
		return
	}
	m.give("moriens_collective_of(&span, %s, %s)", r.reference("comm"), c.root(r))
	switch {
	case c.has("request"): // it may not be used yet
		m.succeed("moriens_made_like(%s, %s)", r.referenceAt("newcomm"), r.handle("comm"))
		m.succeed("moriens_made_request(&span, %s)", r.request("request"))
	case c.has("newcomm"):
		m.succeed("moriens_made(%s)", r.referenceAt("newcomm"))
	}
}

// useWindow is one-sided.
func (c call) useWindow(m *meaning, r reader) {
	access := func(kind, count, typ string) {
		m.give("moriens_access(&span, MORIENS_SLOT_%s, %s, %s, %s, %s)", kind, count, r.handle(typ), r.integer("target"), r.reference("win"))
	}
	update := func(count, typ string) {
		m.give("moriens_update(&span, %s, %s, %s, %s, %s)", count, r.handle(typ), r.integer("target"), r.reference("win"), r.handle("op"))
	}
	switch base := c.base(); {
	case c.has("comm"):
		m.give("moriens_collective_of(&span, %s, MORIENS_NOBODY)", r.reference("comm"))
		m.succeed("moriens_made(%s)", r.referenceAt("win"))
	case base == "win_free":
		m.give("moriens_collective_of(&span, %s, MORIENS_NOBODY)", r.referenceAt("win"))
		m.succeed("moriens_freed()")
	case base == "win_fence" || base == "win_set_info":
		m.give("moriens_collective_of(&span, %s, MORIENS_NOBODY)", r.reference("win"))
	case base == "compare_and_swap":
		access("GOT", "1", "type")
		access("PUT", "1", "type")
	case base == "fetch_and_op":
		access("GOT", "1", "type")
		update("1", "type")
	case c.has("resbuf"):
		access("GOT", r.count("rescount"), "restype")
		update(r.count("ocount"), "otype")
	case base == "get" || base == "rget":
		access("GOT", r.count("ocount"), "otype")
	case c.has("obuf"):
		access("PUT", r.count("ocount"), "otype")
	}
	if c.has("request") {
		m.succeed("moriens_requested(&span, %s)", r.request("request"))
	}
}

// useFile is input and output.
func (c call) useFile(m *meaning, r reader) {
	switch {
	case c.name == "MPI_File_open":
		m.give("moriens_collective_of(&span, %s, MORIENS_NOBODY)", r.reference("comm"))
		m.succeed("moriens_made(%s)", r.referenceAt("file"))
	case c.name == "MPI_File_close":
		m.give("moriens_collective_of(&span, %s, MORIENS_NOBODY)", r.referenceAt("file"))
		m.succeed("moriens_freed()")
	case fileCollective.MatchString(c.name):
		m.give("moriens_collective_of(&span, %s, MORIENS_NOBODY)", r.reference("file"))
	}
	if c.has("count") {
		kind := "READ"
		if strings.Contains(c.name, "write") {
			kind = "WRITTEN"
		}
		m.give("moriens_io(&span, MORIENS_SLOT_%s, %s, %s, %s)", kind, r.count("count"), r.handle("type"), r.reference("file"))
	}
	if c.has("request") {
		m.succeed("moriens_requested(&span, %s)", r.request("request"))
	}
}

// useRequests is what starts, ends or frees requests. MPI_Request_get_status ends none, nor does MPI_Cancel by itself.
func (c call) useRequests(m *meaning, r reader) {
	give := func() {
		if c.has("requests") {
			m.give("moriens_given_requests(%s, %s, requests)", r.binding(), r.integer("count"))
		} else {
			m.give("moriens_given_request(%s, request)", r.binding())
		}
		if status := c.first("status"); status != "" {
			m.give("status = moriens_status(status, %s)", r.binding())
		}
		if c.has("statuses") {
			m.give("statuses = moriens_statuses(statuses, %s)", r.binding())
		}
	}
	switch c.base() {
	case "wait", "test":
		give()
		m.back("moriens_completed(&span, %s, result, request, status)", r.binding())
	case "waitall", "testall":
		give()
		m.back("moriens_completed_all(&span, %s, result, requests, statuses)", r.binding())
	case "waitany", "testany":
		give()
		m.back("moriens_completed_any(&span, %s, result, requests, index, status)", r.binding())
	case "waitsome", "testsome":
		give()
		m.back("moriens_completed_some(&span, %s, result, requests, outcount, indices, statuses)", r.binding())
	case "start":
		give()
		m.succeed("moriens_started(&span)")
	case "startall":
		give()
		m.succeed("moriens_started_all(&span)")
	case "request_free":
		give()
		m.succeed("moriens_freed_request(&span)")
	case "cancel":
		m.give("moriens_cancels()")
	case "grequest_start":
		m.succeed("moriens_made_request(&span, %s)", r.request("request"))
	}
}
