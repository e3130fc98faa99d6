package period

import "math"

// correlation compares the durations of what the section's iterations consist of, loops within summed up, with those
// one iteration later: Pearson's coefficient of the logarithms of ns, over the runs that repeat exactly. NaN where they
// do not vary, and where an iteration is one thing alone, so that nothing of a period could show.
func (f *folder) correlation(s *section) float64 {
	if s.correlation != 0 {
		return s.correlation
	}
	lag := int(s.lag)
	if lag == 1 {
		return math.NaN()
	}
	var n, sumA, sumB, squaresA, squaresB, products float64
	var logs []float64
	for _, r := range s.runs {
		here := &f.runs[r]
		level := f.levels[here.level]
		logs = logs[:0]
		for i := here.begin; i < here.end; i++ {
			logs = append(logs, math.Log1p(float64(f.totalNS[level.at[i+1]]-f.totalNS[level.at[i]])))
		}
		for i := lag; i < len(logs); i++ {
			a, b := logs[i-lag], logs[i]
			n++
			sumA += a
			sumB += b
			squaresA += a * a
			squaresB += b * b
			products += a * b
		}
	}
	variance := (squaresA - sumA*sumA/n) * (squaresB - sumB*sumB/n)
	// What rounding leaves of durations that are all the same is not variance.
	if variance <= 1e-18*squaresA*squaresB {
		return math.NaN()
	}
	return (products - sumA*sumB/n) / math.Sqrt(variance)
}
