package policy

// Why a call can never be allowed.
const (
	around     = "it goes around the confinement"
	keyrings   = "keyrings are shared with processes on the host side"
	machine    = "it acts on the whole machine"
	mounts     = "it changes what is mounted"
	namespaces = "it leaves the namespaces of the confinement"
)

// Treatments that many calls share, and those that depend on arguments. Numbers
// are those of the kernel's headers, the same on amd64 and arm64.
var (
	free   = treatment{}
	needed = treatment{standing: standingNeeded}

	neverAround     = never(around)
	neverKeyrings   = never(keyrings)
	neverMachine    = never(machine)
	neverMounts     = never(mounts)
	neverNamespaces = never(namespaces)
	absentAround    = absentAlways(around)

	modeArgs     = mode(1)
	modeAtArgs   = mode(2)
	openArgs     = creates(1)
	openatArgs   = creates(2)
	mknodArgs    = nodes(1)
	mknodatArgs  = nodes(2)
	ioprioArgs   = priorities("IOPRIO_WHO_PROCESS", 1)
	priorityArgs = priorities("PRIO_PROCESS", 0)

	// The rest of the confinement bounds what these calls reach, but few programs
	// need them, and they had vulnerabilities.
	unlessAllowed = unless("few programs need it, and it had vulnerabilities", AnswerNotPermitted)
	ioSetup       = unless("all processes of the machine share one count of asynchronous requests, and one process can use it up", AnswerNoSuchCall)
	remap         = unless("it maps memory twice, and no current program needs it", AnswerNoSuchCall)
	personalities = unless("few programs need it, and it had vulnerabilities", AnswerNotPermitted,
		allow(argument{0, "persona"}.is("0xffffffff", 0xffffffff)),
		refuse(argument{0, "persona"}.has("READ_IMPLIES_EXEC", 0x400000)).in(noJIT))

	mmapArgs = byArguments("executable memory that is shared, or has no file, can be written through another mapping",
		refuse(argument{2, "prot"}.has("PROT_EXEC", 4), argument{3, "flags"}.has("MAP_SHARED or MAP_ANONYMOUS", 0x21)).in(noJIT),
		refuse(argument{2, "prot"}.has("PROT_EXEC", 4), argument{2, "prot"}.has("PROT_WRITE", 2)).in(noJITUnprotected))
	protects = byArguments("written memory must not be executed; from Linux 6.3 on PR_SET_MDWE enforces that",
		refuse(argument{2, "prot"}.has("PROT_EXEC", 4)).in(noJITUnprotected))
	memfdArgs = byArguments("a memory file can be written and then mapped as executable, and its memory belongs to no process",
		refuse().in(noJIT), refuse().in(whileSampled))
	execveatArgs = byArguments("a program without a path is a memory file",
		refuse(argument{4, "flags"}.has("AT_EMPTY_PATH", 0x1000)).in(noJIT))
	madviseArgs = byArguments("merging equal pages reveals what is in the memory of other processes",
		refuse(argument{2, "advice"}.is("MADV_MERGEABLE", 12)).with(AnswerInvalid))

	shared = byArguments("without namespaces the whole machine shares the object", refuse().in(withoutNamespaces))
	// uncounted is for calls that create System V memory, which exists even when no
	// process has attached it.
	uncounted = byArguments("without namespaces the whole machine shares the object; its memory belongs to no process",
		refuse().in(withoutNamespaces), refuse().in(whileSampled))
	shmatArgs = byArguments("without namespaces the whole machine shares the object; attached twice it can be written and executed",
		refuse().in(withoutNamespaces), refuse(argument{2, "shmflg"}.has("SHM_EXEC", 0o100000)).in(noJIT))

	// inMemory is for calls that programs have a fallback for.
	inMemory = byArguments("its flags and modes are in memory, which a filter cannot read", refuse().with(AnswerNoSuchCall))

	ioctlArgs = byArguments("it types into a terminal, or loads a line discipline",
		refuse(argument{1, "op"}.is("TIOCSTI", 0x5412)), refuse(argument{1, "op"}.is("TIOCLINUX", 0x541c)), refuse(argument{1, "op"}.is("TIOCSETD", 0x5423)))
	cloneArgs = byArguments(namespaces, refuse(argument{0, "flags"}.has("CLONE_NEW…", 0x7e020000)))

	prlimitArgs = treatment{standing: standingNeeded, checks: []ArgCheck{
		refuse(argument{0, "pid"}.isNot("0", 0)),
		allow(argument{1, "resource"}.isNot("RLIMIT_CORE", limitCore)),
		allow(argument{2, "new_limit"}.isNull()...),
		allow(argument{3, "old_limit"}.isNull()...).with(AnswerIgnore),
	}, otherwise: AnswerNotPermitted, why: "limits of other processes must not change; with a core limit of 0 the kernel would run the machine's core dump program"}
	setrlimitArgs = onlyArguments("with a core limit of 0 the kernel would run the machine's core dump program", AnswerIgnore,
		allow(argument{0, "resource"}.isNot("RLIMIT_CORE", limitCore)))
	schedules = byArguments("without namespaces it reaches other processes of the user, with them hostsup's init",
		allow(argument{0, "pid"}.is("0", 0)), refuse().in(withoutNamespaces), refuse(argument{0, "pid"}.is("1", 1)))

	socketpairArgs = onlyArguments("other families reach parts of the kernel that few programs need", AnswerNoSuchFamily,
		allow(argument{0, "domain"}.is("AF_UNIX", 1)))
	socketArgs = onlyArguments("other families and protocols reach parts of the kernel that few programs need; Landlock restricts neither UDP nor unix sockets",
		AnswerNoSuchFamily, append([]ArgCheck{
			refuse().in(landlockOffline),
			refuse(argument{0, "domain"}.is("AF_UNIX", 1)).in(whileUnmapped),
			allow(argument{0, "domain"}.is("AF_UNIX", 1)),
			allow(argument{0, "domain"}.is("AF_NETLINK", 16), argument{2, "protocol"}.is("NETLINK_ROUTE", 0)),
			refuse(notInternet).with(AnswerNoSuchFamily),
			refuse(notPlain).with(AnswerNoSuchFamily),
		}, argument{2, "protocol"}.oneOf(value{"0", 0}, value{"ICMP", 1}, value{"TCP", 6}, value{"UDP", 17}, value{"ICMPv6", 58}, value{"MPTCP", 262})...)...)

	fcntlArgs = onlyArguments("a lease blocks every process that opens the file; unknown commands are refused", AnswerInvalid,
		argument{1, "op"}.oneOf(
			value{"F_DUPFD", 0}, value{"F_GETFD", 1}, value{"F_SETFD", 2}, value{"F_GETFL", 3}, value{"F_SETFL", 4}, value{"F_GETLK", 5},
			value{"F_SETLK", 6}, value{"F_SETLKW", 7}, value{"F_SETOWN", 8}, value{"F_GETOWN", 9}, value{"F_SETSIG", 10}, value{"F_GETSIG", 11},
			value{"F_SETOWN_EX", 15}, value{"F_GETOWN_EX", 16}, value{"F_GETOWNER_UIDS", 17},
			value{"F_OFD_GETLK", 36}, value{"F_OFD_SETLK", 37}, value{"F_OFD_SETLKW", 38},
			value{"F_GETLEASE", 1025}, value{"F_DUPFD_QUERY", 1027}, value{"F_CREATED_QUERY", 1028}, value{"F_DUPFD_CLOEXEC", 1030},
			value{"F_SETPIPE_SZ", 1031}, value{"F_GETPIPE_SZ", 1032}, value{"F_ADD_SEALS", 1033}, value{"F_GET_SEALS", 1034},
			value{"F_GET_RW_HINT", 1035}, value{"F_SET_RW_HINT", 1036}, value{"F_GET_FILE_RW_HINT", 1037}, value{"F_SET_FILE_RW_HINT", 1038})...)

	prctlArgs = onlyArguments("other operations act on the machine, need privileges, or are unknown", AnswerInvalid,
		argument{0, "op"}.oneOf(
			value{"PR_SET_PDEATHSIG", 1}, value{"PR_GET_PDEATHSIG", 2}, value{"PR_GET_DUMPABLE", 3}, value{"PR_SET_DUMPABLE", 4},
			value{"PR_GET_KEEPCAPS", 7}, value{"PR_SET_KEEPCAPS", 8},
			value{"PR_GET_TIMING", 13}, value{"PR_SET_TIMING", 14}, value{"PR_SET_NAME", 15}, value{"PR_GET_NAME", 16},
			value{"PR_GET_SECCOMP", 21}, value{"PR_SET_SECCOMP", 22}, value{"PR_CAPBSET_READ", 23}, value{"PR_CAPBSET_DROP", 24},
			value{"PR_GET_TSC", 25}, value{"PR_SET_TSC", 26}, value{"PR_GET_SECUREBITS", 27}, value{"PR_SET_SECUREBITS", 28},
			value{"PR_SET_TIMERSLACK", 29}, value{"PR_GET_TIMERSLACK", 30},
			value{"PR_SET_CHILD_SUBREAPER", 36}, value{"PR_GET_CHILD_SUBREAPER", 37}, value{"PR_SET_NO_NEW_PRIVS", 38}, value{"PR_GET_NO_NEW_PRIVS", 39},
			value{"PR_GET_TID_ADDRESS", 40}, value{"PR_SET_THP_DISABLE", 41}, value{"PR_GET_THP_DISABLE", 42},
			value{"PR_CAP_AMBIENT", 47}, value{"PR_SVE_SET_VL", 50}, value{"PR_SVE_GET_VL", 51},
			value{"PR_GET_SPECULATION_CTRL", 52}, value{"PR_SET_SPECULATION_CTRL", 53}, value{"PR_PAC_RESET_KEYS", 54},
			value{"PR_SET_TAGGED_ADDR_CTRL", 55}, value{"PR_GET_TAGGED_ADDR_CTRL", 56},
			value{"PR_SET_SYSCALL_USER_DISPATCH", 59}, value{"PR_PAC_SET_ENABLED_KEYS", 60}, value{"PR_PAC_GET_ENABLED_KEYS", 61},
			value{"PR_SME_SET_VL", 63}, value{"PR_SME_GET_VL", 64}, value{"PR_SET_MDWE", 65}, value{"PR_GET_MDWE", 66},
			value{"PR_TIMER_CREATE_RESTORE_IDS", 77}, value{"PR_FUTEX_HASH", 78},
			value{"PR_GET_AUXV", 0x41555856}, value{"PR_SET_VMA", 0x53564d41}, value{"PR_SET_PTRACER", 0x59616d61})...)
)

// notInternet matches families other than AF_INET (2) and AF_INET6 (10), which
// differ in one bit; notPlain matches types other than streams and datagrams.
var (
	notInternet = differing(argument{0, "domain"}.test(^uint32(2^10), 2, 2, "is neither AF_INET nor AF_INET6"))
	notPlain    = differing(argument{1, "type"}.test(0xf, 1, 2, "is neither SOCK_STREAM nor SOCK_DGRAM"))
)

func differing(t ArgTest) ArgTest {
	t.Differ = true
	return t
}

const (
	limitCore = 4      // RLIMIT_CORE
	setIDBits = 0o6000 // set-user-id and set-group-id of a mode
	newFiles  = 0o100 | 0o20000000
)

const rightsOfOthers = "set-user-id and set-group-id files are not created"

// mode refuses modes with a set-user-id or set-group-id bit.
func mode(arg int) treatment {
	return byArguments(rightsOfOthers, refuse(argument{arg, "mode"}.has("set-user-id or set-group-id", setIDBits)))
}

// creates does the same for calls that open files and have a mode after their flags.
func creates(flags int) treatment {
	return byArguments(rightsOfOthers,
		allow(argument{flags, "flags"}.hasNone("O_CREAT or O_TMPFILE", newFiles)),
		refuse(argument{flags + 1, "mode"}.has("set-user-id or set-group-id", setIDBits)))
}

// nodes does the same for calls that create device files, pipes and sockets.
func nodes(arg int) treatment {
	kind := func(name string, bits uint32) ArgCheck {
		return allow(argument{arg, "mode"}.test(0o170000|setIDBits, bits, bits, "is that of a "+name))
	}
	return onlyArguments(rightsOfOthers+", and devices are not either", AnswerNotPermitted,
		kind("file", 0), kind("named pipe", 0o010000), kind("regular file", 0o100000), kind("socket", 0o140000))
}

// priorities is for calls that name processes by a kind and a number.
func priorities(kind string, own uint32) treatment {
	which, who := argument{0, "which"}, argument{1, "who"}
	return onlyArguments("without namespaces it reaches other processes of the user, with them hostsup's init", AnswerNotPermitted,
		allow(which.is(kind, own), who.is("0", 0)), allow(which.is(kind, own), who.isNot("1", 1)).in(withNamespaces))
}
