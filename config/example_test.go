package config_test

import (
	"fmt"
	"os"

	"github.com/hostsup/hostsup/config"
)

func ExampleParse() {
	src := `
group "editor" {
  host "db" {
    command = ["python3", "db.py"]
  }
  host "typescript" {
    command = ["node", "host.js"]
    start {
      depends_on = ["db"]
    }
  }
}
`
	f, diags := config.Parse([]byte(src), "config.hcl", config.Options{})
	if diags.HasErrors() {
		fmt.Println(diags)
		return
	}
	for _, h := range f.Spec.Groups[0].Hosts {
		fmt.Println(h.Name, h.Command, h.Restart.MaxCrashes)
	}
	// Output:
	// db [python3 db.py] 3
	// typescript [node host.js] 3
}

func ExamplePrint() {
	src := `host "web" {
  command = ["web"]
  stop {
    grace = "5 s"
  }
}
`
	_, diags := config.Parse([]byte(src), "config.hcl", config.Options{})
	if err := config.Print(os.Stdout, diags, false, 80); err != nil {
		fmt.Println(err)
	}
	// Output:
	// config.hcl:4:13: error: invalid value for grace
	//     in host "web" › stop
	//   4 |     grace = "5 s"
	//     |             ^^^^^
	//   "5 s" is not a duration such as "500ms", "5s" or "1h30m". Did you mean "5s"?
}

func ExampleParseVars() {
	vars, err := config.ParseVars([]string{"port=8080"})
	if err != nil {
		fmt.Println(err)
		return
	}
	src := `
variable "port" {
  type = number
}
host "web" {
  command = ["web", "--port=${var.port}"]
}
`
	f, diags := config.Parse([]byte(src), "config.hcl", config.Options{Vars: vars})
	if diags.HasErrors() {
		fmt.Println(diags)
		return
	}
	fmt.Println(f.Spec.Groups[0].Hosts[0].Command)
	// Output: [web --port=8080]
}

func ExampleSocketPaths() {
	env := config.Env{Getenv: func(string) string { return "" }, UID: 1000}
	fmt.Println(config.SocketPaths(env, "", ""))
	// Output: [/tmp/hostsup-1000/hostsup.sock]
}

func ExampleReference() {
	for _, s := range config.Reference() {
		if s.Path == "host.restart.max_crashes" {
			fmt.Println(s.Default, "—", s.Expect)
		}
	}
	// Output: 3 — a whole number from 1 to 1000000
}
