// Package measure turns repeated measurements on a noisy machine into figures
// that can be compared.
//
// Contenders take turns within a round, so that a slow spell of the machine
// hits all of them; a figure is the median over the rounds, and a ratio is the
// median of the ratios within each round. It never throws a round away.
package measure
