# The configuration that hostsup is shipped with. It runs as it is:
#
#     hostsup run              in one terminal
#     hostsup status           in another; then try
#     hostsup call math add '[1, 2]'
#     hostsup call math crash '{"signal": 9}'
#
# What is commented out shows a default, or an example where it says so.
# `hostsup validate` checks a file without running it.

# # include = "conf.d/*.hcl"             # other files with hosts, groups, variables and locals

# supervisor {
#   socket    = "/run/hostsup.sock"     # example; the default depends on the user
#   state_dir = "/var/lib/hostsup"      # example; log files and crash reports
#   on_failed = "stay"                  # stay | exit: end `run` when a host is given up
#   max_starting = 4                    # example; hosts that start at once; the default is any number
#   log {
#     level  = "info"                   # trace | debug | info | warn | error | off
#     format = "text"                   # text | json
#     to     = "auto"                   # stderr | journal; auto: the journal when systemd has started it
#   }
#   crash_reports {                     # which are kept: the newest
#     max_age     = "720h"              # or "never"
#     max_size    = "256MiB"            # of all
#     max_reports = 10000
#   }
#   console {                           # example; the control API on the network, for those with a token
#     listen  = "127.0.0.1:7777"
#     names   = ["ops.example"]         # besides localhost and the address
#     origins = ["https://ops.example"] # other sites whose pages may use it
#     allow_unencrypted = false         # true: beyond this machine without tls
#     tls {
#       cert      = "/etc/ssl/hostsup.pem"
#       key       = "/etc/ssl/hostsup.key"
#       client_ca = "/etc/ssl/callers.pem"
#     }
#     token "oncall" {                  # without any, there is one with the role full: hostsup console
#       role   = "operate"              # read | operate | full
#       file   = "/etc/hostsup/oncall.token"
#     }
#     token "grafana" {
#       role   = "read"
#       secret = "grafana"              # hostsup secret set grafana
#     }
#   }
#   traces {                            # example; OpenTelemetry traces of calls and restarts
#     endpoint = "http://127.0.0.1:4318"
#     headers  = { X-Scope-OrgID = "ops" }
#     sample   = 1                      # share of the traces that begin here
#   }
#   users {                             # ids for confined hosts, where the supervisor is root
#     first = 2000000000
#     count = 65536
#   }
# }

# Where the values are that secret("NAME") stands for: `hostsup secret set NAME`.
# secrets {
#   backend  = "auto"                       # keyring | file | auto: the keyring where there is one
#   service  = "hostsup"                    # of the keyring's items
#   file     = "/srv/secrets.age"           # example; encrypted with age
#   identity = "/srv/secrets.age.identity"  # example; the key to it, mode 0600
#   cache    = "5m"                         # how long a value stays in memory
# }

# Values to set from outside: --var greeting=hi, or HOSTSUP_VAR_greeting=hi.
variable "greeting" {
  default = "hello"
}

locals {
  demo = [self, "demo-host"] # self is the path of hostsup; the demo host is inside of it
}

# Hosts of a group share a fate, as its strategy says.
group "demo" {
  strategy = "one_for_one" # one_for_one: nobody's | one_for_all | rest_for_one: those after it
  # # max_running = 10                     # hosts at once; for one more, the one with eager = false stops that was not used for the longest time
  # # memory_budget = "4GiB"              # of all together; above it, hosts stop in the same way

  host "store" {
    command = local.demo
  }

  host "math" {
    command = local.demo
    # kind      = "service"              # kept alive; or "job": runs to its end, hosts that depend on it wait for its success; or "cron"
    # # schedule = "*/5 * * * *"         # of kind cron, which runs at these times; or "@daily", "@every 10m"
    # # timezone = "Europe/Berlin"       # of schedule
    # overlap   = "skip"                 # when a run is due while the last one goes on: skip | queue | kill
    # protocol  = "hostsup"              # or "none": supervised, but never spoken to
    # transport = "fd"                   # fd | stdio | unix
    # # for_each = ["go", "rust"]        # hosts math-go and math-rust, with each.key and each.value
    # # instances = 3                   # hosts math-1 to math-3; hostsup call math takes any, a reload replaces one after the other
    # # env_file = "math.env"            # lines NAME=VALUE, mode 0600; env wins
    # survive = false                    # true: its process goes on when the supervisor is killed (SIGKILL), and the next one takes it back
    # # pre_start = ["./prepare"]        # run before each process, as the host is; when it fails, the start has failed
    # # post_stop = ["./clean"]          # run after each life, before the next one
    # hook_timeout = "1m"                # of both
    # dir       = "/"                    # example; relative paths start from this file's folder
    env         = { GREETING = var.greeting } # or, as a secret: TOKEN = secret("github")
    inherit_env = ["PATH", "HOME"] # nothing else is inherited
    # secrets     = ["github"]           # example; it may ask for these itself
    # init        = { cache = true }     # example; handed to the host when it starts

    start {
      depends_on = ["store"] # starts when store is running
      # timeout    = "1m"
      # on_timeout = "crash"             # crash | wait: only report it as slow
    }

    restart {
      policy      = "on_crash" # on_crash | always | never
      max_crashes = 3          # the third crash within the window gives up:
      window      = "5m"       # `hostsup start math` tries again
      # retry_failed = "never"           # or a duration after which it is tried again by itself
      # success_exit = [3, "SIGTERM"]    # example; ends that are no crash, like exit 0
      # backoff {                        # the first restart does not wait
      #   initial    = "100ms"
      #   max        = "10s"
      #   multiplier = 2
      #   jitter     = 0.2
      #   healthy    = "1m"              # after a life this long the waits start anew
      # }
    }

    # unresponsive {                     # hung: something is unacknowledged, and
    #   after      = "3s"                # no sign of life for this long
    #   kill_after = "30s"               # or "never"
    #   ping       = "1s"
    # }
    # healthy {                          # example; checked from outside, whatever it speaks:
    #   call = "pid"                     # a method returns a result, or one of these
    #   # exec   = ["pg_isready", "-q"]  # a command ends with 0
    #   # http   = "http://127.0.0.1:8080/healthz" # the answer is 2xx or 3xx,
    #   # expect = "ok"                  # and contains this
    #   # tcp    = "127.0.0.1:8080"      # a connection is accepted
    #   interval     = "10s"
    #   timeout      = "2s"
    #   threshold    = 3                 # failures in a row until it is unresponsive
    #   start_period = "30s"             # in which they do not count
    # }
    # recycle {                          # example; its process is replaced by a new one, after the calls under way:
    #   max_age      = "24h"             # or "never"
    #   jitter       = 0.1               # random share of max_age that is left out
    #   max_requests = 100000            # calls that a process is sent
    #   max_memory   = "1GiB"            # of its process tree
    #   drain        = "30s"             # what is under way then ends with the process
    # }
    # requests {
    #   timeout      = "30s"
    #   idle_timeout = "never"           # or a duration without progress that ends a call earlier
    #   max_pending  = 1024
    #   while_down   = "fail"            # fail | queue: let calls wait for the restart
    # }
    # throttle "cursor" {                # example; a notification to it that comes too fast: of several
    #   every = "16ms"                   # within this time the first is sent, and then the latest
    #   key   = "uri"                    # where its params say what it is about; without it, all are one
    # }
    # permissions     = ["fileSystem.read"] # example; what it may ask for; the names are in docs/security.md
    # rate_limit      = "100/s"             # example; of what it asks for
    # workspace_roots = ["/"]               # example; where the paths must lie that it asks about
    # verify {                              # example; what the program must be
    #   sha256 = ["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"]
    # }
    # reply "workspace/*" {              # example; the answer when the host asks for this, * being any rest
    #   result = [{}]                    # or error = { name = "Refused", message = "not here" }
    # }
    # forward "db/*" {                   # example; what the host asks for goes to another one
    #   to = "store"
    # }
    # messages {                         # what the host may send
    #   max_size     = "50MiB"
    #   max_depth    = 128
    #   max_elements = 4194304
    # }
    # stop {
    #   signal = "SIGTERM"
    #   grace  = "5s"                    # then the whole process tree is killed; vscode: 12s
    #   drain  = "never"                 # or a duration for calls under way, before all that
    # }
    # log {                              # what it prints
    #   to       = "files"               # files | journal
    #   max_size = "16MiB"
    #   files    = 4                     # the current one included
    #   rotate_every = "never"           # or a duration, such as "24h"
    #   max_age      = "never"           # or a duration, after which a file is removed
    #   compress     = false             # all but the current file
    #   format       = "text"            # text | json
    # }
    # limits {                           # example; a limit that is not set is none
    #   enforce       = "strict"         # or best-effort: start also where no cgroup can hold memory, tasks or cpu
    #   memory        = "512MiB"
    #   tasks         = 256              # processes and threads
    #   cpu           = 1.5              # processors
    #   files         = 1024             # open descriptors of each process
    #   file_size     = "64MiB"
    #   address_space = "16GiB"
    # }
    # sandbox {                          # example; what it may touch, and nothing else
    #   profile = "strict"               # or node, python, language-server, build-tool; `hostsup sandbox profile`
    #   level   = "no-cgroup"            # the weakest accepted: full | no-cgroup | landlock | none
    #   user    = "auto"                 # as root: a user id of its own
    #   read    = ["-/srv/math/data"]    # a dash in front: where it exists
    #   exec    = [self]                 # read and run
    #   write   = ["/var/tmp"]           # the real folder; its files keep their owner
    #   read_only = ["-/var/tmp/.git"]   # stays as it is within what can be written
    #   deny    = ["/var/tmp/**/.env"]   # wins, also over what is missing yet
    #   network = "allow"                # none | host | allow
    #   allow   = ["db.example:5432"]
    #   jit     = false                  # memory that is written and run
    #   observe = "auto"                 # auto | always | never: watch it, to tell what it was denied
    #   devices = ["-/dev/fuse"]
    #   syscalls {
    #     deny  = ["inotify_init1"]
    #     allow = ["ptrace"]
    #   }
    #   tmp {                            # its private /tmp
    #     size   = "64MiB"
    #     inodes = 4096
    #   }
    #   work {                           # a bounded folder, empty at the start
    #     path   = "/srv/math/work"
    #     size   = "128MiB"
    #     inodes = 8192
    #     keep   = false                 # true: it outlives the process; root only
    #   }
    # }
  }

  host "lazy" {
    command = local.demo
    start {
      eager = false # starts at the first call: hostsup call lazy pid
    }
    extensions { # or at the first event that is for one of these: hostsup activate onLanguage:plaintext
      declare "demo.words" {
        events  = ["onLanguage:plaintext"]
        methods = ["words.count"]
      }
      declare "demo.greeter" {
        # version  = "1.1.0"            # example; what is left out is what the host says of itself
        events     = ["onLanguage:plaintext"]
        methods    = ["greeter.greet"] # hostsup call lazy greeter.greet '"you"'
        depends_on = ["demo.words"]
      }
      declare "demo.clock" {
        methods = ["clock.ticks"]
      }
      declare "demo.moody" {
        methods = ["moody.run"] # hostsup call lazy moody.run '{"mood": "abort"}', twice
      }
      # deactivate = "5s" # how long one gets to end, before the host is restarted
    }
  }
}

# A host outside any group is a group of its own. This one speaks no protocol:
# any program will do.
host "ticker" {
  command     = ["sh", "-c", "while :; do date; sleep 5; done"] # hostsup logs -f ticker
  protocol    = "none"
  inherit_env = ["PATH"]
}

# A language server and an MCP server. Tell an editor to run `hostsup attach ts`
# and an agent `hostsup attach files`: they get servers that come back.
# host "ts" {                          # example
#   command  = ["typescript-language-server", "--stdio"]
#   protocol = "jsonrpc-headers"       # JSON-RPC with Content-Length, on stdin and stdout
#   attach   = true                    # what the first editor says of itself is what it is opened with
#   inherit_env = ["PATH", "HOME"]
#   unresponsive {                     # only reported, unless kill_after says otherwise
#     method = "$/hostsup/ping"        # any method will do: an error is a sign of life, too
#   }
# }
# host "files" {                       # example
#   command  = ["mcp-server-filesystem", "/srv"]
#   protocol = "jsonrpc-lines"         # JSON-RPC by lines
#   inherit_env  = ["PATH", "HOME"]
#   stdout_noise = "skip"              # skip | fail: banners and other text where messages belong
#   attach {                           # stands for attach = true, too
#     isolate   = false                # true: an agent is never asked what another one's call may have caused
#     notify    = true                 # it is told that its server has crashed, was given up or is back
#     idle_stop = "never"              # "10m": stopped when no agent has been attached for so long
#     instances = "shared"             # root | client: a host files@1, files@2 … for each workspace folder, or each agent
#     max_instances = 8                # for one more, the one goes that has been without agents for the longest time
#   }
# }
# template "forge" {                   # example; runs once for each key, when it is asked for: hostsup attach forge --key ada --set token=env:TOKEN
#   vars    = ["token"]                # every caller gives these with its key; they are shown nowhere
#   command = ["mcp-server-forge", "--user", key]
#   env     = { TOKEN = var.token, HOME = "/srv/forge/${key_name}" } # key_name: fit for a path, whatever the key is
#   protocol = "jsonrpc-lines"
#   attach   = true
#   idle_stop     = "10m"              # time without a call and without an agent after which an instance is removed
#   max_instances = 8                  # for one more, the one goes that has not been used for the longest time
# }
# host "github" {                      # example; a server elsewhere, reached over HTTP
#   url    = "https://mcp.example/mcp" # in the place of command
#   attach = true
#   remote {
#     token   = secret("github")       # sent as Authorization: Bearer TOKEN
#     headers = { X-Team = "ops" }     # of each request; X-Key = secret("key") too
#     ca      = "/etc/ssl/mcp-ca.pem"  # authorities that are trusted; default: the system's
#     cert    = "/etc/ssl/client.pem"  # shown to the server
#     key     = "/etc/ssl/client.key"
#     connect_timeout   = "10s"        # also how long a server that is away is tried again before that is a crash
#     idle_timeout      = "never"      # or the time without a byte after which a stream counts as cut off
#     allow_unencrypted = false        # true: an http:// URL of another machine
#   }
#   unresponsive {                     # it is asked each 15 s whether it lives, and hung after 45 s
#     after = "45s"
#     ping  = "15s"
#   }
#   restart {
#     retry_failed = "1m"
#   }
# }

# VS Code's extension host, as an editor has it, with extensions that are known
# one by one: `hostsup extensions` lists them, `hostsup activate onLanguage:go`
# starts what is for Go, and one that keeps killing the host gets one of its own.
# host "code" {                        # example
#   command  = ["node", "/opt/code-server/lib/vscode/out/bootstrap-fork.js", "--type=extensionHost"]
#   protocol = "vscode"
#   inherit_env = ["PATH", "HOME"]
#   reconnect {                        # it is handed its sockets, and another one when one breaks
#     grace = "3h"                     # the longest that it may be without one
#   }
#   extensions {
#     builtin     = ["/opt/code-server/lib/vscode/extensions"] # folders of extensions, or of one
#     user        = ["/srv/extensions"]
#     development = ["/srv/projects/hello"]
#     registry    = "https://extensions.example/{publisher}/{name}/{version}/{target}.vsix" # for `hostsup extension install ID`
#     disabled    = ["vscode.git"]     # known, and not activated
#     affinity    = { "golang.go" = 2 } # runs in a host of its own, code-2
#     events      = ["onLanguage:go"]  # requested at the start
#     workspace   = ["/srv/projects"]  # what they work on, and where workspaceContains events look
#     trusted     = true               # what they are told of it
#     settings    = { "editor.tabSize" = 2 } # the user's, over those of
#     settings_file = "/srv/settings.json"   # this file
#     storage     = "/var/lib/code"    # for what they keep and log
#     accounts    = { "github" = ["acme.pulls"] } # who may use whose accounts
#     questions   = "dismiss"          # or ask: they wait for hostsup answer
#     question_wait = "5m"             # and are dismissed then
#     question "Install * now?" {      # how a question with this text is answered
#       extension = "golang.go"        # of this extension; all without it
#       answer    = "Yes"              # an item, a text or a path; dismissed without it
#     }
#     startup     = "10s"              # the longest that onStartupFinished waits
#     serve "lsp" {}                   # editors use hostsup attach code as a language server
#     serve "mcp" {                    # and agents have these tools by the same command
#       commands  = ["git.*"]          # that they can execute; none without it
#       tools     = ["*"]              # language model tools; all without it
#       languages = true               # hover, definition, rename (as edits) and others; none without it
#     }
#     blame {                          # whose fault is a crash?
#       window    = "5m"               # crashes that are seen together
#       max_lives = 8                  # of hosts, for one search
#       profile   = true               # of a host that hangs: who has the processor?
#       quiet     = "5m"               # suspects that do nothing for so long are let go
#     }
#   }
# }

# Serves MCP servers over HTTP (Streamable HTTP). There may be several, each with a name:
# serve "mcp" "team" {. Callers send Authorization: Bearer TOKEN.
# serve "mcp" {                        # example
#   listen  = "127.0.0.1:7780"
#   hosts   = ["files"]                # at /files/mcp; one alone also at /mcp. MCP servers, and hosts
#                                      # whose extensions have serve "mcp"
#   names   = ["tools.example"]        # besides localhost and the address
#   origins = ["https://app.example"]  # sites whose pages may use them
#   allow_unencrypted = false          # true: beyond this machine without tls
#   max_body     = "4MiB"              # of a request
#   max_sessions = 64
#   idle         = "30m"               # then a session that is not used ends
#   auth {
#     required = true                  # false: no token, on this machine only or with tls.client_ca
#     token "agents" {                 # without any, there is one in serve-mcp.token in the state folder
#       file = "/etc/hostsup/agents.token"
#     }
#     token "ci" {
#       secret = "ci"                  # hostsup secret set ci
#     }
#   }
#   tls {
#     cert      = "/etc/ssl/hostsup.pem"
#     key       = "/etc/ssl/hostsup.key"
#     client_ca = "/etc/ssl/callers.pem"
#   }
# }

# Runs commands, files and HTTP requests for clients such as Codex; see
# `hostsup exec` for one. It may have a name, as hosts do: exec_server "agents" {.
# exec_server {                        # example
#   listen      = "ws://127.0.0.1:8080" # or unix:///run/exec.sock; port 0 is any free one
#   env         = { LANG = "C.UTF-8" } # what commands can inherit, beside what inherit_env
#   inherit_env = ["PATH", "HOME"]     # takes from here; without it all but HOSTSUP_SOCKET
#   max_sessions          = 16
#   max_processes         = 256
#   max_message           = "64MiB"
#   concurrent_requests   = 256        # of one connection
#   ping                  = "30s"      # or "never"
#   pong_wait             = "2s"       # then a session may be taken over
#   refuse_private_http   = false
#   allow_unauthenticated = false      # listen beyond this machine without auth
#   auth {                             # one of the first three
#     token_file         = "/etc/hostsup/exec.token"
#     # token_sha256       = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
#     # shared_secret_file = "/etc/hostsup/exec.secret" # of signed tokens (JWT, HS256)
#     # issuer             = "agents"
#     # audience           = "exec"
#     max_clock_skew = "30s"
#   }
#   retention {                        # for clients that are behind, or away
#     bytes     = "16MiB"              # of output, per process
#     budget    = "256MiB"             # of memory, for all of them beyond 1 MiB each
#     when_full = "pause"              # or "drop": without a connection, lose the oldest
#     closed    = "80s"                # of a process that has ended
#     detached  = "80s"                # of a session without a connection
#     detached_max = "168h"            # where its client asks for more: hostsup exec --detach
#   }
#   restart {                          # of the server itself: always, after a while
#     backoff {
#       initial = "100ms"
#       max     = "10s"
#     }
#   }
#   limits {                           # of each command; as in a host
#     memory = "2GiB"
#     tasks  = 512
#   }
#   sandbox {                          # of commands whose client asks for none; as in a host
#     profile = "strict"
#     write   = ["/var/tmp"]
#   }
# }
