// Command bench measures whole runs of the program against the least that such
// a run could cost on the same tree: a program that only reads the files, and
// one that only looks at them. Both are this binary, run as a process of its
// own, so that the operating system's accounting is comparable.
//
//	bench -program bin/thtbatch [-sessions 100000] [-tree DIR]
//	bench -program bin/thtbatch -records 100000 [-dimensions 768]
//
// The second form measures what loading an index on a server costs.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if len(args) == 2 && (args[0] == "read" || args[0] == "lstat") {
		work := map[string]func(string) error{"read": readAll, "lstat": lookAll}[args[0]]
		return exit(work(args[1]))
	}
	if len(args) > 1 && args[0] == "spend" {
		return exit(spendAs(args[1], args[2:]))
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	var o options
	flags.StringVar(&o.program, "program", "bin/thtbatch", "the program to measure")
	flags.IntVar(&o.sessions, "sessions", 100000, "sessions of the tree that is made")
	flags.StringVar(&o.tree, "tree", "", "measure this artifacts tree instead of making one; sessions of it are changed")
	records := flags.Int("records", 0, "load this many records into a server instead")
	dimensions := flags.Int("dimensions", 768, "of the vectors that are loaded")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *records > 0 {
		return exit(measureLoad(o.program, *records, *dimensions))
	}
	return exit(measure(o))
}

func exit(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return 0
}
