//go:build !cgo

package confluent

// Without cgo the binding compiles to nothing and the compiler speaks of
// undefined names nobody has heard of. This name says what to do instead.
var _ = holdfast_needs_cgo_so_build_with_CGO_ENABLED_1_and_a_C_compiler
