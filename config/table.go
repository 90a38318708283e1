package config

import (
	"time"

	"github.com/hostsup/hostsup/budget"
	"github.com/hostsup/hostsup/intercept/schedule"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/supervisor"
)

// The tables below define the settings. They are built around the value that is
// being filled, which first holds the defaults.

func named(name, doc string, s setting) setting {
	s.name, s.doc = name, doc
	return s
}

// speaking marks a setting that needs a protocol.
func speaking(s setting) setting {
	s.speaks = true
	return s
}

func supervisorSection(f *File) section {
	return section{
		name: "supervisor", doc: "The supervisor itself.",
		settings: []setting{
			named("socket", "control socket; default: see operations.md", path(&f.Socket, checkSocket)),
			named("state_dir", "folder of log files and crash reports; default: see operations.md", path(&f.StateDir, nil)),
			named("on_failed", "whether the supervisor stays or exits when a host has failed", choice(&f.Spec.OnFailed, supervisor.Stay, supervisor.Exit)),
			named("max_starting", "hosts that start at once; default: any number", unlimited(whole(&f.Spec.MaxStarting, 1, 1<<20), &f.Spec.MaxStarting)),
		},
		sections: []section{{
			name: "log", doc: "The supervisor's own log.",
			settings: append([]setting{
				named("level", "least severity that is logged", choice(&f.Log.Level, LevelTrace, LevelDebug, LevelInfo, LevelWarn, LevelError, LevelOff)),
				named("format", "form of a line", choice(&f.Log.Format, FormatText, FormatJSON)),
				named("to", "standard error, or the journal of the system; auto: the file if one is named, else the journal if standard error leads there, else standard error", choice(&f.Log.To, LogToAuto, LogToStderr, LogToJournal)),
				named("file", "where it goes", path(&f.Log.File, nil)),
			}, fileSettings(&f.Log.MaxSize, &f.Log.Files, &f.Log.RotateEvery, &f.Log.MaxAge, &f.Log.Compress)...),
		}, crashReportsSection(&f.Crashes), consoleSection(&f.Console), tracesSection(f.traces), {
			name: "users", doc: "User and group ids that confined hosts are given, each one of its own, where the supervisor is root.",
			settings: []setting{
				named("first", "the lowest", whole(&f.Spec.Users.First, 1000, 1<<31-1)),
				named("count", "how many", whole(&f.Spec.Users.Count, 1, 1<<30)),
			},
		}},
	}
}

func crashReportsSection(c *CrashReports) section {
	neverAge := c.MaxAge == 0
	return section{
		name: "crash_reports", doc: "Which crash reports are kept: the newest.",
		settings: []setting{
			named("max_age", "after which a report is removed; never: however old it is", duration(&c.MaxAge, &neverAge)),
			named("max_size", "of all reports", size(&c.MaxSize, 1<<20, 1<<40)),
			named("max_reports", "kept; the five newest of each host stay", whole(&c.MaxReports, 1, 1_000_000)),
		},
	}
}

// fileSettings are those of log files that rotate.
func fileSettings(maxSize *int64, files *int, every, age *time.Duration, compress *bool) []setting {
	neverRotate, neverAge := *every == 0, *age == 0
	return []setting{
		named("max_size", "of one file", size(maxSize, 1<<10, 1<<40)),
		named("files", "kept, the current one included", whole(files, 1, 10_000)),
		named("rotate_every", "after its first line a file is followed by another one, at the next line; never: only max_size decides", duration(every, &neverRotate)),
		named("max_age", "after its last line a file is removed, the current one too; never: however old it is", duration(age, &neverAge)),
		named("compress", "files other than the current one, with gzip", boolean(compress, false)),
	}
}

func groupSection(g *supervisor.GroupSpec, b *budget.Rule) section {
	return section{
		name: "group", doc: "Hosts that share a fate.",
		settings: []setting{
			named("strategy", "which hosts are restarted with one that crashed: none, all, or those after it",
				choice(&g.Strategy, lifecycle.OneForOne, lifecycle.OneForAll, lifecycle.RestForOne)),
			named("max_running", "hosts that run at once; for one more, the one with eager = false stops that has not been used for the longest time, and the next call starts it again", unlimited(whole(&b.Running, 1, MaxHosts), &b.Running)),
			named("memory_budget", "memory that they take together, looked at every 5s; above it, hosts stop in the same way", unlimited(size(&b.Memory, 1<<20, maxMemory), &b.Memory)),
		},
	}
}

func backoffSection(b *lifecycle.Backoff) section {
	return section{
		name: "backoff", doc: "The wait before a restart; the first one in a while does not wait.",
		settings: []setting{
			named("initial", "the first wait", duration(&b.Initial, nil)),
			named("max", "the longest wait", duration(&b.Max, nil)),
			named("multiplier", "from one wait to the next", fraction(&b.Multiplier, 1, 1000)),
			named("jitter", "random share of the wait", fraction(&b.Jitter, 0, 1)),
			named("healthy", "a life this long resets the wait", duration(&b.Healthy, nil)),
		},
	}
}

// hostSection is the table of a host. Values that do not fit into a HostSpec
// directly go into d.
func hostSection(d *hostDecl) section {
	h := &d.spec
	neverRetry := h.Restart.RetryFailed == 0
	neverIdle := h.Requests.IdleTimeout == 0
	neverDrain := h.Stop.Drain == 0
	retry := duration(&h.Restart.RetryFailed, &neverRetry)
	return section{
		name: "host", doc: "One process that is kept alive.",
		settings: []setting{
			named("command", "program, looked up in the supervisor's PATH, and its arguments", optional(command(&h.Command))),
			speaking(named("url", "an MCP server elsewhere, reached over HTTP (Streamable HTTP), in the place of command; https://, or http:// to this machine", remoteURL(&d.remote.url))),
			named("kind", "kept alive (service), run to its end while hosts that depend on it wait for its success (job), or run to its end at the times of schedule (cron)", choice(&d.kind, kindService, kindJob, kindCron)),
			named("schedule", "when a host of kind cron runs", checkedText(&d.schedule.Times, `a schedule such as "*/5 * * * *", "@daily" or "@every 10m"`, schedule.CheckTimes)),
			named("timezone", "of schedule; default: the supervisor's", checkedText(&d.schedule.Timezone, `a time zone such as "Europe/Berlin"`, schedule.CheckTimezone)),
			named("overlap", "when a run is due while the last one goes on: leave it out, start it afterwards (one at most), or stop the last one", choice(&d.schedule.Overlap, schedule.Skip, schedule.Queue, schedule.Kill)),
			named("protocol", "wire format between supervisor and process", protocolSetting(&d.protocol)),
			speaking(named("transport", "how its bytes travel: a socket on fd 3, stdin and stdout, or a unix socket; default: fd for hostsup, stdio for jsonrpc-* and msgpack-rpc",
				choice(&h.Transport, hostspec.TransportFD, hostspec.TransportStdio, hostspec.TransportUnix))),
			named(forEach, "one host NAME-KEY for each key of a map, or each element of a list, which are each.key and each.value", forEachSetting()),
			named(instances, "hosts NAME-1 to NAME-N, any of which hostsup call NAME may call; each.key is the number; replaced one after the other", instancesSetting()),
			named("dir", "working folder; default: the supervisor's", path(&h.Dir, warnMissingDir)),
			named("env", "variables that are set, to secret(\"NAME\") too; nothing is inherited but what inherit_env names", environmentWithSecrets(&h.Env, &h.Secrets.Env)),
			named("env_file", "file with lines NAME=VALUE, which others must not be able to read; env wins over it", envFile(&d.envFile)),
			named("inherit_env", "variables taken from the supervisor's environment", inherited(&h.InheritEnv)),
			named("survive", "its process goes on when the supervisor is killed (SIGKILL), and the next one takes it back", boolean(&d.survive, false)),
			named("pre_start", "program and its arguments, run before each process of the host as the host is; when it fails, the start has failed", optional(command(&d.hooks.preStart))),
			named("post_stop", "program and its arguments, run after each life, before the next one begins", optional(command(&d.hooks.postStop))),
			named("hook_timeout", "of pre_start and of post_stop; then they are killed with their process trees", duration(&d.hooks.timeout, nil)),
			speaking(named("stdout_noise", "text on stdout where messages belong, in protocol jsonrpc-lines: skip it, or end the life", choice(&d.speech.noise, noiseSkip, noiseFail))),
			speaking(named("attach", "started and initialized by the first program that attaches, with that program's own parameters", boolean(&h.Attach, false))),
			speaking(named("permissions", "what the host may request, named as in a DSCode manifest; default: anything", permissions(&h.Guard.Permissions))),
			speaking(named("rate_limit", "of the host's requests", rateLimit(&h.Guard.RateLimit))),
			speaking(named("workspace_roots", "folders that must contain the paths in the host's requests", folders(&h.Guard.Roots))),
			speaking(named("secrets", "secrets that the host may read, set and delete by its own requests", owned(&h.Secrets.Owned))),
			speaking(named("init", "passed to the host in the handshake", anything(&h.Init))),
		},
		sections: []section{
			{
				name: "start", doc: "When it starts, and how long that may take.",
				settings: []setting{
					named("eager", "start with the supervisor; false: at the first call, or when a host that depends on it starts", boolean(&h.Start.Lazy, true)),
					speaking(named("timeout", "from spawn to the end of the handshake, or without a protocol to the first check of healthy that succeeds", duration(&h.Start.Timeout, nil))),
					speaking(named("on_timeout", "then: kill it and count a crash, or report it as slow and keep it",
						choice(&h.Start.OnTimeout, hostspec.TimeoutCrash, hostspec.TimeoutWait))),
					named("depends_on", "hosts of the same group that must be running, or jobs that must be done, before each start of this one, also after a crash", hostNames(&h.Start.DependsOn, &d.deps)),
				},
			},
			{
				name: "restart", doc: "What follows the end of its process.",
				settings: []setting{
					named("policy", "start again after a crash, after any unrequested end, or never",
						choice(&h.Restart.Policy, lifecycle.OnCrash, lifecycle.Always, lifecycle.Never)),
					named("max_crashes", "number of crashes within window at which the host has failed", whole(&h.Restart.MaxCrashes, 1, 1_000_000)),
					named("window", "time in which crashes are counted", duration(&h.Restart.Window, nil)),
					named("retry_failed", "time after which a failed host is tried again", retry),
					named("success_exit", "ends that count like an exit with 0", exits(&h.Restart.Success)),
				},
				sections: []section{backoffSection(&h.Restart.Backoff)},
			},
			{
				name: "unresponsive", doc: "When a running host counts as hung.", speaks: true,
				settings: []setting{
					named("after", "without a sign of life while something is unacknowledged", duration(&h.Liveness.After, nil)),
					named("kill_after", "from unresponsive to killed; never only reports, and is the default for jsonrpc-*", duration(&h.Liveness.KillAfter, &h.Liveness.NeverKill)),
					named("method", "method called as a ping, if the protocol has none or another is better", text(&d.speech.ping)),
					named("ping", "between pings, for protocols that have one", duration(&h.Liveness.Ping, nil)),
				},
			},
			{
				name: "requests", doc: "Bounds of the calls to it.", speaks: true,
				settings: []setting{
					named("timeout", "of a call without a deadline", duration(&h.Requests.Timeout, nil)),
					named("idle_timeout", "of a call without progress from the host; timeout bounds it in any case", duration(&h.Requests.IdleTimeout, &neverIdle)),
					named("max_pending", "calls open or waiting at once", whole(&h.Requests.MaxPending, 1, 1<<24)),
					named("while_down", "calls while it is crashed or restarting: fail at once, or wait", choice(&h.Requests.WhileDown, hostspec.FailFast, hostspec.Queue)),
				},
			},
			{
				name: "messages", doc: "What it may send; more ends the connection.", speaks: true,
				settings: []setting{
					named("max_size", "of one message", size(&h.Limits.Frame, 1<<10, 1<<30)),
					named("max_depth", "nesting of lists and maps", whole(&h.Limits.Depth, 8, 1024)),
					named("max_elements", "list elements, map keys and map values of one message, together", whole(&h.Limits.Elements, 64, 1<<28)),
					named("max_string", "of one string; default: max_size", size(&h.Limits.String, 1<<10, 1<<30)),
				},
			},
			{
				name: "stop", doc: "How it is asked to end.",
				settings: []setting{
					named("signal", "sent if the goodbye message was not enough", signal(&h.Stop.Signal)),
					named("grace", "from the start of stopping, or the end of drain, until its whole process tree is killed; for vscode the default is 12s", duration(&h.Stop.Grace, nil)),
					speaking(named("drain", "before the goodbye, for calls under way, while new ones are refused; never: the goodbye comes at once", duration(&h.Stop.Drain, &neverDrain))),
				},
			},
			{
				name: "verify", doc: "Checks of its program before each start.",
				settings: []setting{
					named("sha256", "checksums, one of which it must have", checksums(&h.Guard.SHA256)),
				},
			},
			{
				name: "log", doc: "What it prints, kept in files under the state folder.",
				settings: append([]setting{
					named("to", "where it is kept: in files, or in the journal of the system", either(&h.Log.Journal, "files", "journal")),
					named("format", "of a line: time, life, stream and text, or a JSON object", either(&h.Log.JSON, string(FormatText), string(FormatJSON))),
				}, fileSettings(&h.Log.MaxSize, &h.Log.Files, &h.Log.RotateEvery, &h.Log.MaxAge, &h.Log.Compress)...),
			},
			{
				name: "attach", doc: "How the programs that attach share it. The block stands in the place of attach = true.", given: &h.Attach,
				settings: []setting{
					named("isolate", "no program is asked what a call of another one may have caused; a request of the host that cannot be attributed to one program is refused", boolean(&d.sharing.Isolate, false)),
					named("notify", "programs are told when it has crashed, was given up or is back, or takes long to start: in protocol jsonrpc-headers by window/showMessage, in jsonrpc-lines by log messages", boolean(&d.sharing.Silent, true)),
					named("idle_stop", "time without a program that is attached after which it is stopped, or an instance removed; the next one starts it again; default with instances = \"root\": 10m", duration(&d.sharing.IdleStop, &d.sharers.forEver)),
					named("instances", "programs share the host; or a host NAME@1, NAME@2 and so on for each workspace folder, or for each program", choice(&d.sharers.per, sharedByAll, perRoot, perClient)),
					named("max_instances", "then the one goes that has been without programs for the longest time, or a program is refused", whole(&d.sharers.most, 1, 1000)),
				},
			},
			remoteSection(&d.remote),
			healthySection(&d.health),
			recycleSection(&d.recycle),
			reconnectSection(&d.reconnect),
			extensionsSection(&d.extensions),
			limitsSection(&d.confinement.limits),
			sandboxSection(&d.confinement),
		},
	}
}
