package main

// The model of docs/design/scale.md. Its constants were measured at 100 agents with 100 ranks of 100 and 1,000 bursts;
// the table puts what it says beside what was measured.

// Bytes, as messages are marshalled.
const (
	bytesAsk      = 14 // without columns
	bytesAnswer   = 13
	bytesHead     = 160 // of a survey
	bytesGroup    = 44
	bytesProcess  = 10
	bytesUnit     = 13 // and so many more for each dimension and counter
	bytesParent   = 3  // of a place
	bytesDim      = 26
	bytesCounter  = 13
	bytesLabel    = 2
	bytesHash     = 18
	bytesWanted   = 19
	bytesRun      = 2
	bytesRow      = 26.7
	bytesRowCount = 8.9 // of each counter
)

// Seconds of one core.
const (
	secondsRank    = 17e-6  // of an agent, to label a rank's bursts
	secondsBurst   = 14e-9  // likewise, a burst
	secondsByte    = 4.2e-8 // of the collector, to survey units, by their bytes
	secondsPlace   = 1.1e-7 // to take places, likewise
	secondsAsk     = 60e-6  // to ask an agent for labels or sequences
	secondsLabel   = 1.8e-7 // to send a label
	secondsHash    = 4e-7   // to take a hash
	secondsCluster = 4.4e-6 // to cluster a unit or place, by labelling
	secondsRow     = 1.6e-7 // to take a row of sums
)

// A cost is what a stage takes by the model.
type cost struct {
	Down, Up        float64 // bytes
	Agents, Central float64 // seconds of all agents, and of the collector
}

// model is what a stage costs.
func (e *end) model(s *stage) cost {
	dims, counters := 1., 0.
	if e.Job.Counters {
		dims, counters = 2, 2
	}
	agents, ranks, asked := float64(e.Job.Agents), float64(e.Job.ranks()), float64(s.Asked)
	labelling := ranks*secondsRank + float64(e.Bursts)*secondsBurst
	unit := bytesUnit + dims*bytesDim + counters*bytesCounter
	// What has been asked for, beyond once of each agent.
	messages := float64(s.Way.Down.Messages)
	switch s.Name {
	case "survey":
		return cost{
			Down: agents * 2, Up: agents*(bytesHead+bytesAnswer+float64(e.Groups)*bytesGroup*(1-counters/2)) + ranks*bytesProcess + float64(s.Units)*unit,
			Central: float64(s.Units) * unit * secondsByte,
		}
	case "split":
		return cost{
			Down: messages*bytesAsk + float64(s.SplitUnits), Up: messages*bytesAnswer + float64(s.Units)*(unit+bytesParent), Central: float64(s.Units) * unit * secondsPlace,
		}
	case "score", "label":
		return cost{
			Down: messages*bytesAsk + float64(s.Labels)*bytesLabel + float64(s.Sequences)*bytesWanted,
			Up:   messages*bytesAnswer + float64(s.Entries)*bytesHash + float64(s.Runs)*bytesRun, Agents: asked * labelling,
			Central: messages*secondsAsk + float64(s.Labels)*secondsLabel + float64(s.Entries)*secondsHash,
		}
	case "sums":
		return cost{Down: messages * bytesAsk, Up: float64(s.Rows) * (bytesRow + counters*bytesRowCount), Central: float64(s.Rows) * secondsRow}
	}
	return cost{Central: float64(e.Units+e.Places) * float64(e.labellings()) * secondsCluster}
}

// labellings are how often sequences were scored.
func (e *end) labellings() int {
	for _, s := range e.Stages {
		if s.Name == "score" {
			return s.Asked
		}
	}
	return 0
}
