package represent

import (
	"cmp"
	"math"
	"slices"
)

// principal returns the eigenvectors of a symmetric m×m matrix, which it overwrites, by descending eigenvalue: Jacobi's
// method with cyclic sweeps (Golub and Van Loan, Matrix Computations, section 8.5).
func principal(a []float64, m int) [][]float64 {
	vectors := make([]float64, m*m) // row i is the i-th eigenvector
	for i := range m {
		vectors[i*m+i] = 1
	}
	for range 50 { // six to ten sweeps suffice; the bound is for what rounding may do
		var off, diagonal float64
		for i := range m {
			diagonal += a[i*m+i] * a[i*m+i]
			for j := range i {
				off += a[i*m+j] * a[i*m+j]
			}
		}
		if off <= 1e-24*diagonal {
			break
		}
		for p := range m {
			for q := p + 1; q < m; q++ {
				rotate(a, vectors, m, p, q)
			}
		}
	}
	order := make([]int, m)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(a[j*m+j], a[i*m+i]) })
	list := make([][]float64, m)
	for i, k := range order {
		list[i] = vectors[k*m : (k+1)*m]
	}
	return list
}

// rotate turns the plane of axes p and q so that a[p][q] becomes 0.
func rotate(a, vectors []float64, m, p, q int) {
	apq := a[p*m+q]
	if apq == 0 {
		return
	}
	theta := (a[q*m+q] - a[p*m+p]) / (2 * apq)
	t := 1 / (math.Abs(theta) + math.Hypot(theta, 1))
	if theta < 0 {
		t = -t
	}
	c := 1 / math.Hypot(t, 1)
	s := t * c
	for k := range m { // columns, then rows
		x, y := a[k*m+p], a[k*m+q]
		a[k*m+p], a[k*m+q] = c*x-s*y, s*x+c*y
	}
	for k := range m {
		x, y := a[p*m+k], a[q*m+k]
		a[p*m+k], a[q*m+k] = c*x-s*y, s*x+c*y
		x, y = vectors[p*m+k], vectors[q*m+k]
		vectors[p*m+k], vectors[q*m+k] = c*x-s*y, s*x+c*y
	}
	a[p*m+q], a[q*m+p] = 0, 0
}
