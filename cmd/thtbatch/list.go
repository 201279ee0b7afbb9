package main

import (
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/thtbatch/thtbatch/internal/jobs"
)

// listed is a command as jobs --json shows it.
type listed struct {
	Name      string       `json:"name"`
	Usage     string       `json:"usage"`
	Arguments string       `json:"arguments"`
	Writes    bool         `json:"writes"`
	Flags     []listedFlag `json:"flags"`
}

type listedFlag struct {
	Name  string `json:"name"`
	Usage string `json:"usage"`
}

// listJob lists the commands, those of the frame too.
func (c *call) listJob() jobs.Job {
	return jobs.Job{
		Name: "jobs", Usage: "list the jobs",
		Run: func(_ context.Context, e *jobs.Env, _ []string) error {
			if e.JSON {
				return json.NewEncoder(e.Stdout).Encode(c.listing())
			}
			w := tabwriter.NewWriter(e.Stdout, 0, 0, 2, ' ', 0)
			for _, job := range c.verbs() {
				if _, err := fmt.Fprintf(w, "%s\t%s\n", job.Name, job.Usage); err != nil {
					return err
				}
			}
			return w.Flush()
		},
	}
}

func (c *call) listing() []listed {
	out := []listed{}
	for _, job := range c.verbs() {
		l := listed{Name: job.Name, Usage: job.Usage, Arguments: job.ArgsUsage, Writes: job.Writes, Flags: []listedFlag{}}
		for _, f := range job.Flags {
			usage := ""
			if d, ok := f.(cli.DocGenerationFlag); ok {
				usage = d.GetUsage()
			}
			l.Flags = append(l.Flags, listedFlag{dashes(f.Names()[0]), usage})
		}
		out = append(out, l)
	}
	return out
}
