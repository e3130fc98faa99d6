// Package shmabi mirrors the shared-memory layout of cshim/include/shim_abi.h, which describes it. It holds types and
// constants only and imports no other package of the module.
//
// types.go is written by cgo -godefs on amd64; arm64 has the same layout, because every field has a fixed size and
// stands at a multiple of it.
package shmabi

//go:generate sh -c "d=${DOLLAR}(mktemp -d) && go tool cgo -objdir ${DOLLAR}d -godefs types_def.go | sed 2d | gofmt > types.go && rm -r ${DOLLAR}d"
