package kinds

import (
	"fmt"
	"math"
)

// A Cause is what distinguishes a leaf from the others of its group, or makes it a variant of one.
type Cause uint8

// The causes. What is in no pair of the evaluation is ByNothing: no other leaf of its stratum was there to compare it
// with.
const (
	ByNothing      Cause = iota
	ByOrder              // what comes before, after and on other ranks predicts which of the two comes
	ByCalls              // no burst of one is between the MPI calls of a burst of the other
	ByInstructions       // they differ in what nothing disturbs
	ByDensity            // both are large, narrow and far apart
	ByTurns              // ranks take turns between the two
	BySurroundings       // others of its group are in other strata
	ByChance             // nothing: it comes in the other's place
	ByPlace              // nothing: its bursts are at the places of the other
	Unjudged             // order was not asked
)

var causes = [...]string{"nothing", "order", "calls", "instructions", "density", "turns", "surroundings", "chance", "place", "unjudged"}

func (c Cause) String() string { return causes[c] }

// A Reason says why a leaf stands for a kind, or what it is a variant of and why.
type Reason struct {
	By       Cause
	Other    int32   // the leaf that it is distinguished from, of several that which it is distinguished from least, or in whose place it comes; None where there is none
	Foretold float64 // how far order distinguishes it from the other, 0–1
	Share    float64 // of the bursts of both that the smaller one has
	Distance float64 // of the medians
	Few      bool    // one has so few bursts that order is asked for more
	// Everywhere says of a variant that order distinguishes it from the other, but that neither has places at which the
	// other never comes: slices of time do that where ranks share cores.
	Everywhere bool
	Pool       bool // a variant: disturbed bursts, each of the kind of its place
}

// reason is why a pair is one, or two.
func (j *evaluator) reason(p *pair) Reason {
	r := Reason{By: ByChance, Foretold: p.foretold, Share: p.share, Distance: p.distance, Few: min(j.bursts[p.a], j.bursts[p.b]) < few, Everywhere: p.everywhere}
	switch {
	case !p.apart:
	case j.differ(p.a, p.b):
		if r.By = ByInstructions; j.otherCalls(p.a, p.b) {
			r.By = ByCalls
		}
	case p.foretold >= apartByOrder:
		r.By = ByOrder
	default:
		r.By = ByDensity
	}
	return r
}

// Text is the reason in words. other is the name of the cluster that it is distinguished from, or comes in place of;
// kind that of its kind, if it is a variant.
func (r *Reason) Text(kind, other string) string {
	switch r.By {
	case ByNothing:
		return "the only kind of its group"
	case BySurroundings:
		return "separated by the bursts before and after it, or by its ranks"
	case Unjudged:
		return "density alone"
	case ByPlace:
		return fmt.Sprintf("variant of %s: its bursts occur where order predicts %s", kind, kind)
	case ByTurns:
		return fmt.Sprintf("separate from %s: they alternate", other)
	case ByCalls:
		return fmt.Sprintf("separate from %s: between other MPI calls", other)
	case ByInstructions:
		return fmt.Sprintf("separate from %s: different instruction counts", other)
	case ByOrder:
		return fmt.Sprintf("separate from %s: predicted to %s", other, inPercent(r.Foretold))
	case ByDensity:
		return fmt.Sprintf("separate from %s: both are large and narrow, %.0f %% apart; predicted to %s", other, 100*(math.Exp(r.Distance)-1), inPercent(r.Foretold))
	}
	text := fmt.Sprintf("variant of %s", kind)
	if other != kind {
		text += fmt.Sprintf(", in place of %s", other)
	}
	text += ": predicted to " + inPercent(r.Foretold)
	switch {
	case r.Foretold < apartByOrder:
	case r.Everywhere:
		text += ", but ranks share cores, and each occurs wherever the other does"
	case r.Few:
		text += fmt.Sprintf("; fewer than %d bursts need %s", few, inPercent(apartIfFew))
	}
	if r.Pool {
		text += "; slow bursts, each assigned to the kind that its position predicts"
	}
	return text
}

func inPercent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }
