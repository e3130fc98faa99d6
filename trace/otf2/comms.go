package otf2

import (
	"fmt"

	"moriens/trace"
)

// defineCommunicators defines those of the run, and for its messages, of which no file says where they were sent, one
// of all ranks of each world, and one of all worlds.
func (d *definitions) defineCommunicators(run *trace.Run, p *plan) {
	first := make([]uint64, 0, d.ranks.total) // location of each process
	for i := range d.locations {
		if l := &d.locations[i]; int(l.process) == len(first) {
			first = append(first, l.id)
		}
	}
	d.group("", groupCommLocations, first)
	var worlds []uint32 // groups
	for w, world := range run.Worlds {
		members := make([]uint64, world.Size)
		for r := range members {
			members[r] = uint64(d.ranks.of(w, r))
		}
		worlds = append(worlds, d.group("", groupComm, members))
	}
	all := make([]uint64, d.ranks.total)
	for i := range all {
		all[i] = uint64(i)
	}
	everyone := d.group("", groupComm, all)
	channels := messageChannels(run, p)
	d.channelOf = channels.of
	for k := range channels.number {
		var comms []uint32
		for w := range run.Worlds {
			comms = append(comms, d.comm(channelName(worldName(run, w), k), worlds[w]))
		}
		d.channels = append(d.channels, append(comms, d.comm(channelName("all worlds", k), everyone)))
	}
	for _, c := range run.Communicators {
		number := uint32(undefined)
		if !c.Window && !c.File && c.World < len(run.Worlds) {
			members := make([]uint64, len(c.Ranks))
			for i, r := range c.Ranks {
				members[i] = uint64(d.ranks.of(c.World, r))
			}
			kind := "communicator"
			if c.Inter {
				kind = "intercommunicator"
			}
			number = d.comm(fmt.Sprintf("%s %d of %s", kind, c.ID, worldName(run, c.World)), d.group("", groupComm, members))
		}
		d.commOf = append(d.commOf, number)
	}
}

func worldName(run *trace.Run, world int) string {
	if len(run.Worlds) == 1 {
		return "MPI_COMM_WORLD"
	}
	return fmt.Sprintf("MPI_COMM_WORLD of world %d", world)
}

func channelName(name string, channel int) string {
	if channel == 0 {
		return name
	}
	return fmt.Sprintf("%s, messages that overtake others %d", name, channel)
}

func (d *definitions) group(name string, kind uint32, members []uint64) uint32 {
	d.groups = append(d.groups, group{d.strings.of(name), kind, members})
	return uint32(len(d.groups) - 1)
}

func (d *definitions) comm(name string, of uint32) uint32 {
	d.comms = append(d.comms, comm{d.strings.of(name), of})
	return uint32(len(d.comms) - 1)
}
