package testenv

import (
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Seed is drawn again in each run of a test, and logged; MORIENS_SEED=N repeats the run that drew N.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("MORIENS_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("MORIENS_SEED: %v", err)
		}
	}
	t.Logf("MORIENS_SEED=%d", seed)
	return seed
}

// Drawer is a source of numbers of its own for each name, so that a test draws the same whether or not others run.
func Drawer(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
