package terminals

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/problems"
	"github.com/hostsup/hostsup/workbench/tasks"
)

// maxTerminals bounds the terminals of a workbench at one time.
const maxTerminals = 64

// Bounds of what extensions may have besides terminals.
const (
	maxProviders   = 1000     // of tasks, of all hosts
	maxName        = 1 << 10  // bytes of the type of tasks and of the name of a terminal
	maxCollections = 1000     // changes of the environment by the extensions of a host
	maxEnviron     = 1 << 20  // bytes of these changes
	maxTasks       = 10_000   // that one tasks.fetchTasks returns
	maxTaskBytes   = 64 << 20 // of these
)

// Service answers MainThreadTerminalService and MainThreadTask. It must be made with [New].
type Service struct {
	opt Options

	mu          sync.Mutex
	hosts       workbench.Hosts
	terminals   map[int]*terminal
	byExtension map[string]*terminal // by the id that an extension host has given
	last        int
	watching    map[string]bool                // names of the hosts that want the output
	environs    map[string]map[string][]change // by host and extension
	providers   map[providerKey]bool
	tasks       map[string]*task            // that run, by id
	fetched     map[string]fetched          // the tasks of the last fetch of each type, by id
	types       map[string]tasks.Definition // of tasks that extensions contribute
	matchers    *problems.Registry          // of problems in the output of tasks
	left        map[string]bool             // what was logged of the files of tasks
	planned     map[plannedKey]*step        // tasks that are about to be executed
	ended       bool
	work        sync.WaitGroup
}

// New returns the service.
func New(opt Options) *Service {
	registry, _ := problems.New(nil) // of the editor alone, which is complete
	return &Service{
		matchers: registry,
		opt:      opt.withDefaults(), terminals: map[int]*terminal{}, byExtension: map[string]*terminal{},
		watching: map[string]bool{}, environs: map[string]map[string][]change{}, providers: map[providerKey]bool{},
		tasks: map[string]*task{}, fetched: map[string]fetched{}, planned: map[plannedKey]*step{}, left: map[string]bool{},
	}
}

// Methods implements [workbench.Service].
func (s *Service) Methods() map[string]workbench.Method {
	const t, k = "MainThreadTerminalService.", "MainThreadTask."
	return map[string]workbench.Method{
		t + "$createTerminal":                   {Now: s.create},
		t + "$dispose":                          {Now: s.disposeOf},
		t + "$sendText":                         {Now: s.sendText},
		t + "$sendProcessData":                  {Now: s.customData},
		t + "$sendProcessReady":                 {Now: s.customReady},
		t + "$sendProcessExit":                  {Now: s.customExit},
		t + "$sendProcessProperty":              {Now: s.customProperty},
		t + "$startSendingDataEvents":           {Now: func(c *workbench.Call) (any, error) { return s.watch(c, true) }},
		t + "$stopSendingDataEvents":            {Now: func(c *workbench.Call) (any, error) { return s.watch(c, false) }},
		t + "$setEnvironmentVariableCollection": {Now: s.environ},
		k + "$registerTaskProvider":             {Now: s.register},
		k + "$unregisterTaskProvider":           {Now: s.unregister},
		k + "$fetchTasks":                       {Do: s.fetch},
		k + "$createTaskId":                     {Now: s.taskID},
		k + "$getTaskExecution":                 {Begin: s.execution},
		k + "$executeTask":                      {Begin: s.execute},
		k + "$terminateTask":                    {Now: s.terminate},
	}
}

// Up implements [workbench.Follower].
func (s *Service) Up(h *workbench.Host) {
	defer s.hosts.Enter(&s.mu, h)()
}

// Down implements [workbench.Follower]: the terminals of the life end.
func (s *Service) Down(h *workbench.Host) {
	defer s.hosts.Leave(&s.mu, h)()
	delete(s.watching, h.Name())
	delete(s.environs, h.Name())
	maps.DeleteFunc(s.providers, func(k providerKey, _ bool) bool { return k.host == h.Name() && k.life <= h.Life() })
	s.cancelTasks(h)
	for _, t := range s.terminals {
		if t.host.Name() == h.Name() && t.life <= h.Life() {
			t.end(reasonShutdown, nil)
		}
	}
}

// Close implements [workbench.Closer]: it ends all terminals and waits for them.
func (s *Service) Close() error {
	s.mu.Lock()
	s.ended = true
	s.cancelTasks(nil)
	for _, t := range s.terminals {
		t.end(reasonShutdown, nil)
	}
	s.mu.Unlock()
	s.work.Wait()
	return nil
}

// Status describes a terminal.
type Status struct {
	ID     int
	Name   string
	Host   string // of the extension
	Pid    int    // 0: there is no process, or it was not started yet
	Output string // the last of its output, at most 64 KiB
}

// List returns the terminals that are open, by their ids.
func (s *Service) List() []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Status
	for _, id := range slices.Sorted(maps.Keys(s.terminals)) {
		t := s.terminals[id]
		out = append(out, Status{id, t.name, t.host.Name(), t.pid, string(t.output.bytes())})
	}
	return out
}

// open adds a terminal and tells the hosts. The caller must hold mu.
func (s *Service) open(t *terminal) error {
	switch {
	case s.ended:
		return workbench.NotSupported("window.createTerminal", "the supervisor is ending")
	case len(s.terminals) >= maxTerminals:
		return workbench.NotSupported("window.createTerminal", fmt.Sprintf("%d terminals are open, which is the limit", maxTerminals))
	}
	s.last++
	t.id, t.s = s.last, s
	s.terminals[t.id] = t
	if t.extension != "" {
		s.byExtension[t.extension] = t
	}
	for _, h := range s.hosts {
		extension := any(workbench.Undefined)
		if h.Name() == t.host.Name() && t.extension != "" {
			extension = t.extension
		}
		h.Tell(extTerminals+"$acceptTerminalOpened", workbench.Params(t.id, extension, t.name, t.config()))
	}
	return nil
}

// closed removes a terminal and tells the hosts. The caller must hold mu.
func (s *Service) closed(t *terminal) {
	delete(s.terminals, t.id)
	if s.byExtension[t.extension] == t {
		delete(s.byExtension, t.extension)
	}
	code := any(workbench.Undefined)
	if t.code != nil {
		code = *t.code
	}
	s.hosts.Tell(extTerminals+"$acceptTerminalClosed", workbench.Params(t.id, code, t.reason))
	if t.closed != nil {
		t.closed(t.code)
	}
}

// find returns the terminal that is the first argument of a call; nil if it has ended.
func (s *Service) find(c *workbench.Call) *terminal {
	var id int
	if c.Args(&id) == nil {
		return s.terminals[id]
	}
	var extension string
	if c.Args(&extension) == nil {
		return s.byExtension[extension]
	}
	return nil
}

func (s *Service) watch(c *workbench.Call, on bool) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.watching, c.Host.Name()); on {
		s.watching[c.Host.Name()] = true
	}
	return nil, nil
}
