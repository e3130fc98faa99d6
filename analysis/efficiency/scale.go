package efficiency

import "math"

// weakFrom is by how much the instructions of a run must grow with its locations, 0 to 1 of proportionally, for the
// problem to have grown with them.
const weakFrom = .9

// A Measured is what scaling needs of a run. Seconds; NaN: a counter that was not counted.
type Measured struct {
	Locations    int
	T            float64
	Computing    float64 // of all locations
	Parallel     float64
	Instructions float64 // of all the computing time
	IPC          float64
	GHz          float64
}

// A Scaling is how a run compares with a reference of the same program. NaN: a counter that was not counted.
type Scaling struct {
	Computation  float64 // ΣU of the reference over ΣU = Instructions · IPC · Frequency where all bursts have all counters
	Instructions float64
	IPC          float64
	Frequency    float64
	Global       float64 // Parallel · Computation
	Speedup      float64 // T of the reference over T
}

// Weak reports whether the problem of a run has grown with its locations, by the instructions; known is false where
// they were not counted.
func Weak(run, reference *Measured) (weak, known bool) {
	if run.Locations < reference.Locations {
		run, reference = reference, run
	}
	grown := run.Instructions / reference.Instructions / (float64(run.Locations) / float64(reference.Locations))
	return grown > weakFrom && run.Locations != reference.Locations, !math.IsNaN(grown)
}

// Scale compares a run with a reference. In a weak scaling what grows with the locations is taken per location.
func Scale(run, reference *Measured, weak bool) Scaling {
	grow := 1.0
	if weak {
		grow = float64(run.Locations) / float64(reference.Locations)
	}
	s := Scaling{
		Computation:  reference.Computing / nonzero(run.Computing) * grow,
		Instructions: reference.Instructions / nonzero(run.Instructions) * grow,
		IPC:          run.IPC / nonzero(reference.IPC),
		Frequency:    run.GHz / nonzero(reference.GHz),
		Speedup:      reference.T / nonzero(run.T) * grow,
	}
	s.Global = run.Parallel * s.Computation
	return s
}
