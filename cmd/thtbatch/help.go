package main

import (
	"runtime/debug"

	"github.com/urfave/cli/v2"
)

// The help texts. cli aligns what tabs separate.
const (
	appHelp = `{{.Name}}: {{.Usage}}

USAGE
   {{.Name}} JOB [flags] [arguments]
   {{.Name}} JOB --help
   {{.Name}} --version

JOBS{{range .Commands}}
   {{.Name}}{{"\t"}}{{.Usage}}{{end}}

EXIT CODES{{range exits}}
   {{.Code}}{{"\t"}}{{.Meaning}}{{end}}
`
	commandHelp = `{{.HelpName}}: {{.Usage}}

USAGE
   {{.HelpName}} [flags]{{with .ArgsUsage}} {{.}}{{end}}

FLAGS{{range .Flags}}
   {{.}}{{end}}

EXIT CODES{{range exits}}
   {{.Code}}{{"\t"}}{{.Meaning}}{{end}}
`
)

// showHelp prints the help of the program, or of the command in the request.
func (c *call) showHelp(app *cli.App) error {
	app.Setup()
	var template string
	var about any = app
	if command := app.Command(c.verb); command == nil {
		template = appHelp
	} else {
		template, about = commandHelp, command
	}
	cli.HelpPrinterCustom(c.out, template, about, map[string]any{"exits": exits})
	return nil
}

// versionText names the release, or the commit that was built.
func versionText() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	text := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			text += " " + s.Value
		}
	}
	return text
}
