package main

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	// patienceOfCheck is for one of the many checks that an excerpt takes.
	patienceOfCheck = time.Second / 4
	// patienceOfExcerpt is for those that make it shorter.
	patienceOfExcerpt = 5 * time.Second
	// mostLines is how many operations are shown before the one that fits no more.
	mostLines = 12
)

// excerpt shows the first operation whose answer fits none of the orders, after what it contradicts.
func excerpt(group *group) string {
	steps := slices.Clone(group.steps)
	slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.until(), b.until()) })
	last := firstThatFails(steps)
	steps = withoutReads(upTo(steps, last))
	slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.Start, b.Start) })
	var before, misfits []step
	for _, step := range steps {
		if step.operation == last.operation {
			misfits = append(misfits, step)
		} else {
			before = append(before, step)
		}
	}
	before = slices.DeleteFunc(before, func(s step) bool { return !slices.ContainsFunc(misfits, s.touches) })
	hidden := max(0, len(before)-mostLines)

	text := &strings.Builder{}
	fmt.Fprintf(text, "group %d is not linearizable: the last of these fits no order of what is before it\n", group.number)
	for i, key := range group.keys {
		fmt.Fprintf(text, "  %s is %s\n", name(i), key)
	}
	if hidden > 0 {
		fmt.Fprintf(text, "  %d earlier writes and reads of its keys\n", hidden)
	}
	for _, step := range append(before[hidden:], misfits...) {
		fmt.Fprintf(text, "  %s\n", step)
	}
	return text.String()
}

// firstThatFails ends the shortest part of a history that is not linearizable. If a part is not,
// no longer one is.
func firstThatFails(steps []step) step {
	at := sort.Search(len(steps)-1, func(i int) bool { return fails(upTo(steps, steps[i])) })
	return steps[at]
}

// upTo is what was known at the end of a step.
func upTo(steps []step, last step) []step {
	var known []step
	for _, step := range steps {
		if step.Start > last.until() {
			continue
		}
		if step.until() > last.until() {
			if step.isRead() {
				continue
			}
			step.isOpen, step.answer = true, nil
		}
		known = append(known, step)
	}
	return known
}

// withoutReads leaves out reads without which the history fails as well.
func withoutReads(steps []step) []step {
	end := time.Now().Add(patienceOfExcerpt)
	for i := len(steps) - 1; i >= 0 && time.Now().Before(end); i-- {
		if fewer := slices.Delete(slices.Clone(steps), i, i+1); steps[i].isRead() && fails(fewer) {
			steps = fewer
		}
	}
	return steps
}

func fails(steps []step) bool {
	return porcupine.CheckOperationsTimeout(model, entries(steps), patienceOfCheck) == porcupine.Illegal
}

func (s step) touches(other step) bool {
	return slices.ContainsFunc(s.at, func(at int) bool { return slices.Contains(other.at, at) })
}

func (s step) String() string {
	span := milliseconds(s.Start) + " ms on"
	if !s.isOpen {
		span = fmt.Sprintf("%s to %s ms", milliseconds(s.Start), milliseconds(s.End))
	}
	return fmt.Sprintf("from %s, process %d at %s: %s", span, s.Process, s.Node, s.does())
}

func (s step) does() string {
	names := make([]string, len(s.at))
	for i, at := range s.at {
		names[i] = name(at)
	}
	asked := s.Kind + " " + strings.Join(names, ", ")
	if s.Version != 0 {
		asked = fmt.Sprintf("%s version %d", asked, s.Version)
	}
	switch {
	case s.answer == nil:
		return asked + ": no answer yet"
	case s.isRead():
		return fmt.Sprintf("%s: versions %v", asked, s.answer.Versions)
	case s.Kind == "delete":
		return fmt.Sprintf("%s: deleted %v", asked, s.answer.Deleted)
	}
	return fmt.Sprintf("%s: %d stored, %d replaced, %d kept", asked, s.answer.Stored, s.answer.Replaced, s.answer.Kept)
}

// name is that of a key in an excerpt.
func name(at int) string {
	return string(rune('a' + at))
}

func milliseconds(ns int64) string {
	return fmt.Sprintf("%.3f", float64(ns)/1e6)
}
