package main

import (
	"math"
	"slices"

	"github.com/anishathalye/porcupine"
)

const mostKeys = 8

// state has the version of each key of a group, 0 where there is no point.
type state [mostKeys]int

// model is a store that does one step after the other.
var model = porcupine.Model{
	Init: func() any { return state{} },
	Step: func(before, input, _ any) (bool, any) {
		after, fits := input.(step).apply(before.(state))
		return fits, after
	},
}

// apply takes effect, and says whether the answer is one that this state gives.
func (s step) apply(state state) (state, bool) {
	expected := answer{}
	for _, at := range s.at {
		isThere := state[at] != 0
		switch {
		case s.Kind == "delete":
			expected.Deleted = append(expected.Deleted, isThere)
			state[at] = 0
		case s.isRead():
			expected.Versions = append(expected.Versions, state[at])
		case s.Kind == "insert" && isThere:
			expected.Kept++
		case isThere:
			expected.Replaced++
			state[at] = s.Version
		default:
			expected.Stored++
			state[at] = s.Version
		}
	}
	return state, s.answer == nil || s.answer.equals(expected)
}

func (a *answer) equals(b answer) bool {
	return a.Stored == b.Stored && a.Replaced == b.Replaced && a.Kept == b.Kept &&
		slices.Equal(a.Deleted, b.Deleted) && slices.Equal(a.Versions, b.Versions)
}

// entries are the steps as the checker takes them: one that is open ends last of all.
func entries(steps []step) []porcupine.Operation {
	entries := make([]porcupine.Operation, len(steps))
	for i, step := range steps {
		entries[i] = porcupine.Operation{Input: step, Call: step.Start, Return: step.until()}
	}
	return entries
}

func (s step) until() int64 {
	if s.isOpen {
		return math.MaxInt64
	}
	return s.End
}
