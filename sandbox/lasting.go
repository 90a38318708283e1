package sandbox

// LastingCgroups are the paths of the cgroups of one process tree that outlives this process. No keeper kills
// the processes in them. The paths are chosen before the cgroups are made, so that they can be written down
// first: who has read them can remove the cgroups, whenever this process was killed.
type LastingCgroups struct {
	// Tree is a cgroup of version 2 that holds the whole tree; "" without one.
	Tree string `json:"tree,omitempty"`
	// InTree are the controllers that limit Tree: "memory", "pids", "cpu".
	InTree []string `json:"in_tree,omitempty"`
	// Limits are the cgroups of version 1 that limit the tree, by controller.
	Limits map[string]string `json:"limits,omitempty"`
	// Weaker are the limits that no cgroup enforces.
	Weaker []Shortfall `json:"weaker,omitempty"`
}
