package tests

import (
	"encoding/json"
	"slices"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/language"
)

// The methods of hosts.
const (
	ofHost        = "ExtHostTesting."
	methodSync    = ofHost + "$syncTests"
	methodExpand  = ofHost + "$expandTest"
	methodRefresh = ofHost + "$refreshTests"
	methodRun     = ofHost + "$runControllerTests"
	methodCancel  = ofHost + "$cancelExtensionTestRun"
	methodDispose = ofHost + "$disposeRun"
)

// wireTest is a test as a host writes it.
type wireTest struct {
	ExtID       string `json:"extId"`
	Label       string
	Tags        []string
	Busy        bool
	URI         *workbench.URI
	Range       *language.Range
	Description *string
	Error       json.RawMessage // a text, or one in Markdown
	SortText    *string
}

// expandable is the state of a test whose extension was not asked for the tests below it.
const expandable = 1

// The kinds of changes of tests.
const (
	opAdd    = 0
	opUpdate = 1
	opRemove = 3
)

// canRefresh is the capability of a controller that finds its tests again.
const canRefresh = 2

// kinds are the names of the groups of profiles.
var kinds = map[int]string{2: "run", 4: "debug", 8: "coverage"}

// Methods implements [workbench.Service].
func (s *Service) Methods() map[string]workbench.Method {
	const of = "MainThreadTesting."
	return map[string]workbench.Method{
		of + "$registerTestController": {Now: s.register},
		of + "$updateController":       {Now: s.on(s.update)},
		of + "$unregisterTestController": {Now: s.on(func(c *controller, _ *workbench.Call) error {
			delete(s.controllers, key{c.Host, c.ID})
			return nil
		})},
		of + "$publishDiff": {Now: s.on(diffs)},
		of + "$publishTestRunProfile": {Now: func(call *workbench.Call) (any, error) {
			var p wireProfile
			if err := call.Args(&p); err != nil {
				return nil, err
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if c := s.find(call, p.ControllerID); c != nil {
				return nil, s.addProfile(c, p)
			}
			return nil, nil
		}},
		of + "$updateTestRunConfig": {Now: s.on(s.updateProfile)},
		of + "$removeTestProfile": {Now: s.on(func(c *controller, call *workbench.Call) error {
			var id int
			err := call.Args(nil, &id)
			c.Profiles = slices.DeleteFunc(c.Profiles, func(p Profile) bool { return p.id == id })
			return err
		})},
		of + "$startedExtensionTestRun":  {Now: s.began},
		of + "$finishedExtensionTestRun": {Now: s.in(func(r *run, _ *workbench.Call) error { r.end(); return nil })},
		of + "$addTestsToRun": {Now: func(call *workbench.Call) (any, error) {
			var list []wireTest
			var id string
			if err := call.Args(nil, &id, &list); err != nil {
				return nil, err
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if r := s.run(call, id); r != nil {
				for _, t := range list {
					r.know(t)
				}
			}
			return nil, nil
		}},
		of + "$startedTestRunTask": {Now: s.in(func(r *run, call *workbench.Call) error {
			var task struct{ ID string }
			err := call.Args(nil, &task)
			if len(r.open) < maxTasks {
				r.open[task.ID] = true
			}
			return err
		})},
		of + "$finishedTestRunTask":     {Now: s.in(s.finishedTask)},
		of + "$updateTestStateInRun":    {Now: s.in(s.changed)},
		of + "$appendTestMessagesInRun": {Now: s.in(s.messages)},
		of + "$appendOutputToRun":       {Now: s.in(s.appendOutput)},
	}
}

// register answers $registerTestController: an id, a label, and capabilities.
func (s *Service) register(call *workbench.Call) (any, error) {
	var id, label string
	var can int
	if err := call.Args(&id, &label, &can); err != nil {
		return nil, err
	}
	if id == "" || len(id) > maxText {
		return nil, workbench.Invalid("tests.createTestController: an id of up to %d bytes expected", maxText)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h, err := s.hosts.Of(call)
	if err != nil {
		return nil, err
	}
	if len(s.of(h.Name())) >= maxControllers {
		return nil, workbench.Invalid("tests.createTestController: the host has %d, which is the limit", maxControllers)
	}
	s.add(h, id, label, can)
	return nil, nil
}

// add adds a controller. The caller must hold mu.
func (s *Service) add(h life, id, label string, can int) *controller {
	c := &controller{Controller: Controller{Host: h.Name(), ID: id, Label: s.line(label), Refresh: can&canRefresh != 0}, host: h, tests: map[string]*test{}}
	s.controllers[key{h.Name(), id}] = c
	return c
}

// find returns a controller of the life that makes a call; nil without one. The caller must hold mu.
func (s *Service) find(call *workbench.Call, id string) *controller {
	c := s.controllers[key{call.Host.Name(), id}]
	if c == nil || c.host.Life() != call.Life {
		return nil
	}
	return c
}

// on returns a method whose first argument is the id of a controller. One that is not there any more is not
// an error, as in VS Code. do is called with mu held.
func (s *Service) on(do func(c *controller, call *workbench.Call) error) func(*workbench.Call) (any, error) {
	return about(s, s.find, do)
}

// about returns a method whose first argument is the id of what find finds. find and do are called with mu
// held.
func about[T any](s *Service, find func(*workbench.Call, string) *T, do func(*T, *workbench.Call) error) func(*workbench.Call) (any, error) {
	return func(call *workbench.Call) (any, error) {
		var id string
		if err := call.Args(&id); err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if found := find(call, id); found != nil {
			return nil, do(found, call)
		}
		return nil, nil
	}
}

// update answers $updateController: what has changed.
func (s *Service) update(c *controller, call *workbench.Call) error {
	var patch struct {
		Label        *string
		Capabilities *int
	}
	if err := call.Args(nil, &patch); err != nil {
		return err
	}
	if patch.Label != nil {
		c.Label = s.line(*patch.Label)
	}
	if patch.Capabilities != nil {
		c.Refresh = *patch.Capabilities&canRefresh != 0
	}
	return nil
}

// wireProfile is a profile as a host writes it.
type wireProfile struct {
	ControllerID string
	ProfileID    int
	Label        string
	Group        int
	IsDefault    bool
	Tag          *string
}

func (s *Service) addProfile(c *controller, p wireProfile) error {
	if len(c.Profiles) >= maxProfiles {
		return workbench.Invalid("TestController.createRunProfile: there are %d, which is the limit", maxProfiles)
	}
	c.Profiles = append(c.Profiles, Profile{Label: s.line(p.Label), Kind: kinds[p.Group], Default: p.IsDefault, Tag: tagName(deref(p.Tag)), id: p.ProfileID})
	return nil
}

// updateProfile answers $updateTestRunConfig: the id of a profile, and what has changed.
func (s *Service) updateProfile(c *controller, call *workbench.Call) error {
	var id int
	var patch map[string]json.RawMessage
	if err := call.Args(nil, &id, &patch); err != nil {
		return err
	}
	i := slices.IndexFunc(c.Profiles, func(p Profile) bool { return p.id == id })
	if i < 0 {
		return nil
	}
	p := &c.Profiles[i]
	var label, tag *string
	for name, to := range map[string]any{"label": &label, "tag": &tag, "isDefault": &p.Default} {
		if raw := patch[name]; raw != nil {
			if err := json.Unmarshal(raw, to); err != nil {
				return workbench.Invalid("TestRunProfile.%s: %v", name, err)
			}
		}
	}
	if label != nil {
		p.Label = s.line(*label)
	}
	if patch["tag"] != nil {
		p.Tag = tagName(deref(tag))
	}
	return nil
}

// diffs answers $publishDiff: changes of the tests of a controller.
func diffs(c *controller, call *workbench.Call) error {
	var list []struct {
		Op     int
		Item   json.RawMessage
		ItemID string
	}
	if err := call.Args(nil, &list); err != nil {
		return err
	}
	var failed error
	for _, d := range list {
		var err error
		switch d.Op {
		case opAdd:
			err = c.addTest(d.Item)
		case opUpdate:
			err = c.updateTest(d.Item)
		case opRemove:
			c.remove(d.ItemID)
		}
		if failed == nil {
			failed = err
		}
	}
	return failed
}

// addTest adds a test below one that is there; the first one is the controller itself.
func (c *controller) addTest(raw json.RawMessage) error {
	var in struct {
		Expand int
		Item   wireTest
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return workbench.Invalid("TestItem: %v", err)
	}
	id := in.Item.ExtID
	up := c.tests[above(id)]
	switch {
	case controllerOf(id) != c.ID || up == nil && id != c.ID:
		return workbench.Invalid("TestItem: %.200q is below a test that is not known", id)
	case len(id) > maxID:
		return workbench.Invalid("TestItem: an id of up to %d bytes expected", maxID)
	case len(c.tests) >= maxTests:
		return workbench.Invalid("TestController: there are %d tests, which is the limit", maxTests)
	case c.tests[id] != nil:
		c.remove(id)
	}
	c.tests[id] = &test{wireTest: in.Item, expand: in.Expand}
	if up != nil {
		up.below = append(up.below, id)
	}
	return nil
}

// updateTest changes a test: what is not named stays.
func (c *controller) updateTest(raw json.RawMessage) error {
	var in struct {
		ExtID  string `json:"extId"`
		Expand *int
		Item   json.RawMessage
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return workbench.Invalid("TestItem: %v", err)
	}
	t := c.tests[in.ExtID]
	if t == nil {
		return nil
	}
	if in.Expand != nil {
		t.expand = *in.Expand
	}
	if len(in.Item) == 0 {
		return nil
	}
	var named map[string]json.RawMessage
	if err := json.Unmarshal(in.Item, &named); err != nil {
		return workbench.Invalid("TestItem: %v", err)
	}
	next := t.wireTest
	if named["uri"] != nil {
		next.URI = nil // not merged with the old one
	}
	if named["range"] != nil {
		next.Range = nil
	}
	if named["tags"] != nil {
		next.Tags = nil
	}
	if err := json.Unmarshal(in.Item, &next); err != nil {
		return workbench.Invalid("TestItem: %v", err)
	}
	next.ExtID = in.ExtID
	t.wireTest = next
	return nil
}

// remove removes a test with those below it.
func (c *controller) remove(id string) {
	t := c.tests[id]
	if t == nil {
		return
	}
	if up := c.tests[above(id)]; up != nil && id != c.ID {
		up.below = slices.DeleteFunc(up.below, func(one string) bool { return one == id })
	}
	for _, one := range slices.Clone(t.below) {
		c.remove(one)
	}
	delete(c.tests, id)
}
