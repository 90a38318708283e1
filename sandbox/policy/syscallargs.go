package policy

// Why a call can never be allowed.
const (
	around     = "it goes around the confinement"
	keyrings   = "keyrings are shared with processes outside"
	machine    = "it acts on the whole machine"
	mounts     = "it changes what is mounted"
	namespaces = "it leaves the namespaces of the confinement"
)

// Treatments that many calls have, and those of the calls whose arguments
// decide. Numbers are those of the kernel's headers, the same on amd64 and
// arm64.
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

	// What these calls reach is bounded by the rest of the confinement, but few
	// programs need them, and they are where holes were found.
	unlessAllowed = unless("few programs need it, and holes were found there", AnswerNotPermitted)
	ioSetup       = unless("the machine has one count of asynchronous requests for all, and one process can take it", AnswerNoSuchCall)
	remap         = unless("it shows memory twice, and no program of today needs it", AnswerNoSuchCall)
	personalities = unless("few programs need it, and holes were found there", AnswerNotPermitted,
		allow(argument{0, "persona"}.is("0xffffffff", 0xffffffff)),
		refuse(argument{0, "persona"}.has("READ_IMPLIES_EXEC", 0x400000)).in(noJIT))

	mmapArgs = byArguments("memory that is executable and has no file of its own, or is shared, can be written to by another mapping of it",
		refuse(argument{2, "prot"}.has("PROT_EXEC", 4), argument{3, "flags"}.has("MAP_SHARED or MAP_ANONYMOUS", 0x21)).in(noJIT),
		refuse(argument{2, "prot"}.has("PROT_EXEC", 4), argument{2, "prot"}.has("PROT_WRITE", 2)).in(noJITUnprotected))
	protects = byArguments("what was written must not be run; from Linux 6.3 on PR_SET_MDWE holds that",
		refuse(argument{2, "prot"}.has("PROT_EXEC", 4)).in(noJITUnprotected))
	memfdArgs = byArguments("what is written to a memory file can be mapped to be run, and its memory is in no process",
		refuse().in(noJIT), refuse().in(whileSampled))
	execveatArgs = byArguments("a program without a path is a memory file",
		refuse(argument{4, "flags"}.has("AT_EMPTY_PATH", 0x1000)).in(noJIT))
	madviseArgs = byArguments("memory that the kernel compares with that of other processes tells what they have",
		refuse(argument{2, "advice"}.is("MADV_MERGEABLE", 12)).with(AnswerInvalid))

	shared = byArguments("without namespaces it is the machine's", refuse().in(withoutNamespaces))
	// uncounted are the calls that make System V memory, which lives on without
	// a process that has it.
	uncounted = byArguments("without namespaces it is the machine's; its memory is in no process",
		refuse().in(withoutNamespaces), refuse().in(whileSampled))
	shmatArgs = byArguments("without namespaces it is the machine's; attached twice it can be written and run",
		refuse().in(withoutNamespaces), refuse(argument{2, "shmflg"}.has("SHM_EXEC", 0o100000)).in(noJIT))

	// inMemory are calls that programs do without.
	inMemory = byArguments("its flags and modes lie in memory, which a filter cannot see", refuse().with(AnswerNoSuchCall))

	ioctlArgs = byArguments("it types into a terminal, or loads a line discipline",
		refuse(argument{1, "op"}.is("TIOCSTI", 0x5412)), refuse(argument{1, "op"}.is("TIOCLINUX", 0x541c)), refuse(argument{1, "op"}.is("TIOCSETD", 0x5423)))
	cloneArgs = byArguments(namespaces, refuse(argument{0, "flags"}.has("CLONE_NEW…", 0x7e020000)))

	prlimitArgs = treatment{standing: standingNeeded, checks: []ArgCheck{
		refuse(argument{0, "pid"}.isNot("0", 0)),
		allow(argument{1, "resource"}.isNot("RLIMIT_CORE", limitCore)),
		allow(argument{2, "new_limit"}.isNull()...),
		allow(argument{3, "old_limit"}.isNull()...).with(AnswerIgnore),
	}, otherwise: AnswerNotPermitted, why: "other processes' limits are not its own; with a core limit of 0 the kernel would run the machine's program for core dumps"}
	setrlimitArgs = onlyArguments("with a core limit of 0 the kernel would run the machine's program for core dumps", AnswerIgnore,
		allow(argument{0, "resource"}.isNot("RLIMIT_CORE", limitCore)))
	schedules = byArguments("without namespaces other processes of the user are in reach, with them our init is",
		allow(argument{0, "pid"}.is("0", 0)), refuse().in(withoutNamespaces), refuse(argument{0, "pid"}.is("1", 1)))

	socketpairArgs = onlyArguments("other families reach parts of the kernel that few programs need", AnswerNoSuchFamily,
		allow(argument{0, "domain"}.is("AF_UNIX", 1)))
	socketArgs = onlyArguments("other families and protocols reach parts of the kernel that few programs need; Landlock holds neither UDP nor sockets in files",
		AnswerNoSuchFamily, append([]ArgCheck{
			refuse().in(landlockOffline),
			refuse(argument{0, "domain"}.is("AF_UNIX", 1)).in(whileUnmapped),
			allow(argument{0, "domain"}.is("AF_UNIX", 1)),
			allow(argument{0, "domain"}.is("AF_NETLINK", 16), argument{2, "protocol"}.is("NETLINK_ROUTE", 0)),
			refuse(notInternet).with(AnswerNoSuchFamily),
			refuse(notPlain).with(AnswerNoSuchFamily),
		}, argument{2, "protocol"}.oneOf(value{"0", 0}, value{"ICMP", 1}, value{"TCP", 6}, value{"UDP", 17}, value{"ICMPv6", 58}, value{"MPTCP", 262})...)...)

	fcntlArgs = onlyArguments("a lease has everybody wait who opens the file; unknown commands are not allowed", AnswerInvalid,
		argument{1, "op"}.oneOf(
			value{"F_DUPFD", 0}, value{"F_GETFD", 1}, value{"F_SETFD", 2}, value{"F_GETFL", 3}, value{"F_SETFL", 4}, value{"F_GETLK", 5},
			value{"F_SETLK", 6}, value{"F_SETLKW", 7}, value{"F_SETOWN", 8}, value{"F_GETOWN", 9}, value{"F_SETSIG", 10}, value{"F_GETSIG", 11},
			value{"F_SETOWN_EX", 15}, value{"F_GETOWN_EX", 16}, value{"F_GETOWNER_UIDS", 17},
			value{"F_OFD_GETLK", 36}, value{"F_OFD_SETLK", 37}, value{"F_OFD_SETLKW", 38},
			value{"F_GETLEASE", 1025}, value{"F_DUPFD_QUERY", 1027}, value{"F_CREATED_QUERY", 1028}, value{"F_DUPFD_CLOEXEC", 1030},
			value{"F_SETPIPE_SZ", 1031}, value{"F_GETPIPE_SZ", 1032}, value{"F_ADD_SEALS", 1033}, value{"F_GET_SEALS", 1034},
			value{"F_GET_RW_HINT", 1035}, value{"F_SET_RW_HINT", 1036}, value{"F_GET_FILE_RW_HINT", 1037}, value{"F_SET_FILE_RW_HINT", 1038})...)

	prctlArgs = onlyArguments("others act on the machine, need rights, or are unknown", AnswerInvalid,
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

// notInternet holds for sockets of other families than the internet's, which
// are AF_INET (2) and AF_INET6 (10) and differ in one bit; notPlain for types
// other than streams and datagrams.
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

const rightsOfOthers = "files that give their owner's rights to who runs them are not made"

// mode refuses modes that give others rights.
func mode(arg int) treatment {
	return byArguments(rightsOfOthers, refuse(argument{arg, "mode"}.has("set-user-id or set-group-id", setIDBits)))
}

// creates does so for calls that open files and have a mode after their flags.
func creates(flags int) treatment {
	return byArguments(rightsOfOthers,
		allow(argument{flags, "flags"}.hasNone("O_CREAT or O_TMPFILE", newFiles)),
		refuse(argument{flags + 1, "mode"}.has("set-user-id or set-group-id", setIDBits)))
}

// nodes does so for calls that make what has no content.
func nodes(arg int) treatment {
	kind := func(name string, bits uint32) ArgCheck {
		return allow(argument{arg, "mode"}.test(0o170000|setIDBits, bits, bits, "is that of a "+name))
	}
	return onlyArguments(rightsOfOthers+", and neither are devices", AnswerNotPermitted,
		kind("file", 0), kind("named pipe", 0o010000), kind("regular file", 0o100000), kind("socket", 0o140000))
}

// priorities are calls on who is meant by a kind and a number.
func priorities(kind string, own uint32) treatment {
	which, who := argument{0, "which"}, argument{1, "who"}
	return onlyArguments("without namespaces other processes of the user are in reach, with them our init is", AnswerNotPermitted,
		allow(which.is(kind, own), who.is("0", 0)), allow(which.is(kind, own), who.isNot("1", 1)).in(withNamespaces))
}
