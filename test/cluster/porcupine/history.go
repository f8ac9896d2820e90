package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// operation is a line of a history; ../history/operation.ts says what it means.
type operation struct {
	Process int
	Node    string
	Kind    string
	Group   int
	Keys    []string
	Version int
	Outcome string
	Answer  *answer
	Start   int64
	End     int64
}

type answer struct {
	Stored, Replaced, Kept int
	Deleted                []bool
	Versions               []int
}

// step is what happens at one moment: an operation, or one key of a get, since a get of several points
// reads one after the other.
type step struct {
	*operation
	// Where the keys are in the state of their group.
	at []int
	// Nil if it is not known, or if nothing follows from it.
	answer *answer
	// Whether it may take effect at any time after its start, or never.
	isOpen bool
}

// group has what happens to keys that are written together.
type group struct {
	number int
	keys   []string
	steps  []step
}

type history struct {
	groups                      []*group
	operations, unknown, failed int
}

func read(path string) (*history, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	history, groups := &history{}, map[int]*group{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		operation := &operation{}
		if err := json.Unmarshal(lines.Bytes(), operation); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, history.operations+1, err)
		}
		history.operations++
		of := groups[operation.Group]
		if of == nil {
			of = &group{number: operation.Group}
			groups[operation.Group] = of
			history.groups = append(history.groups, of)
		}
		switch operation.Outcome {
		case "ok":
			of.add(operation, false)
		case "unknown":
			history.unknown++
			of.add(operation, true)
		case "failed":
			history.failed++
		default:
			return nil, fmt.Errorf("%s, line %d: no outcome is %q", path, history.operations, operation.Outcome)
		}
	}
	for _, group := range history.groups {
		if len(group.keys) > mostKeys {
			return nil, fmt.Errorf("%s: group %d has %d keys, at most %d are expected", path, group.number, len(group.keys), mostKeys)
		}
	}
	return history, lines.Err()
}

func (g *group) add(operation *operation, isOpen bool) {
	at := make([]int, len(operation.Keys))
	for i, key := range operation.Keys {
		at[i] = slices.Index(g.keys, key)
		if at[i] < 0 {
			at[i] = len(g.keys)
			g.keys = append(g.keys, key)
		}
	}
	switch {
	case isOpen && operation.isRead():
		// It has changed nothing, and told nothing.
	case operation.Kind == "get":
		for i := range at {
			one := &answer{Versions: operation.Answer.Versions[i : i+1]}
			g.steps = append(g.steps, step{operation, at[i : i+1], one, false})
		}
	default:
		g.steps = append(g.steps, step{operation, at, operation.Answer, isOpen})
	}
}

func (o *operation) isRead() bool {
	return o.Kind == "get" || o.Kind == "search"
}
