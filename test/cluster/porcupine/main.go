// Command porcupine says whether a history of a workload is linearizable: whether there is an order of
// its operations, each between its start and its end, in which one store that does one thing at a time
// would have answered them so. It ends with 0 if there is, and with 1 if not or if that is not known.
//
// Usage: porcupine [-patience 20s] FILE
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/anishathalye/porcupine"
)

// mostExcerpts is for how many groups of keys it is shown what contradicts itself.
const mostExcerpts = 3

func main() {
	patience := flag.Duration("patience", 20*time.Second, "the most time for the keys of one group")
	flag.Parse()
	history, err := read(flag.Arg(0))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	bad := 0
	for _, group := range history.groups {
		result := porcupine.CheckOperationsTimeout(model, entries(group.steps), *patience)
		if result == porcupine.Ok {
			continue
		}
		bad++
		if result == porcupine.Unknown {
			fmt.Printf("group %d: not decided within %v\n\n", group.number, *patience)
		} else if bad <= mostExcerpts {
			fmt.Println(excerpt(group))
		}
	}
	if bad > 0 {
		fmt.Printf("not linearizable in %d of %d groups of keys\n", bad, len(history.groups))
		os.Exit(1)
	}
	fmt.Printf("linearizable: %d groups of keys, %d operations, of which %d are unknown and %d failed\n",
		len(history.groups), history.operations, history.unknown, history.failed)
}
