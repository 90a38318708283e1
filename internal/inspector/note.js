// It notes the stack of a call before the call stops the event loop, and that of an allocation that
// may become a large message, in a file that has no name any more. Its value is the file's descriptor.
(() => {
	const key = Symbol.for('hostsup.notes');
	if (process[key] !== undefined) return process[key];
	const load = process.getBuiltinModule ?? process.mainModule.require;
	const fs = load('fs');
	const { openSync, unlinkSync, writeSync } = fs;
	const { stringify } = JSON;
	const { apply } = Reflect;
	const { now } = Date;
	// Sizes in bytes; those of an area and of a note leave room for characters of several bytes.
	const area = 64 << 10, longest = 16 << 10, large = 1 << 20, kept = 4;
	const file = load('path').join(load('os').tmpdir(), `hostsup-${process.pid}-${load('crypto').randomUUID()}`);
	const fd = openSync(file, 'wx+', 0o600);
	unlinkSync(file);

	const stack = (above) => {
		const limit = Error.stackTraceLimit, at = {};
		Error.stackTraceLimit = 100;
		try {
			Error.captureStackTrace(at, above);
			return String(at.stack).slice(0, longest);
		} finally {
			Error.stackTraceLimit = limit;
		}
	};
	const note = (where, value) => { writeSync(fd, stringify(value) + '\n', where * area); };
	const trying = (f) => { try { f(); } catch { /* a call must not fail because it is not noted */ } };
	const wrap = (object, name, handler) => {
		const f = object[name];
		if (typeof f === 'function') trying(() => { object[name] = new Proxy(f, { apply: handler }); });
	};

	// Area 0 has the call that is going on, and is an empty line without one.
	let within = false;
	const blocks = (object, name) => wrap(object, name, function blocking(f, self, args) {
		if (within) return apply(f, self, args);
		within = true;
		trying(() => note(0, { name, since: now(), stack: stack(blocking) }));
		try {
			return apply(f, self, args);
		} finally {
			within = false;
			trying(() => writeSync(fd, '\n', 0));
		}
	});
	// All calls of child_process that wait for the child end there, also those whose functions
	// were imported before.
	trying(() => blocks(process.binding('spawn_sync'), 'spawn'));
	blocks(Atomics, 'wait');
	for (const name of ['openSync', 'readSync', 'writeSync', 'readFileSync', 'writeFileSync', 'appendFileSync']) blocks(fs, name);

	// Area 1 has the latest large allocations, of which messages are made.
	const latest = [];
	const allocates = (name, size) => wrap(Buffer, name, function allocating(f, self, args) {
		const bytes = size(args[0]);
		if (bytes >= large) {
			trying(() => {
				latest.push({ bytes, stack: stack(allocating).slice(0, longest / kept) });
				if (latest.length > kept) latest.shift();
				note(1, latest);
			});
		}
		return apply(f, self, args);
	});
	allocates('allocUnsafe', (n) => n);
	allocates('from', (v) => (typeof v === 'string' ? v.length : 0));

	// Area 2 has the files of the native code that was loaded.
	const loaded = [];
	wrap(process, 'dlopen', (f, self, args) => {
		const file = String(args[1]).slice(0, 512), added = loaded.length < 64 && !loaded.includes(file);
		const keep = (list) => { if (added) trying(() => note(2, list)); };
		keep([...loaded, file]); // it may crash while it is loaded
		try {
			const result = apply(f, self, args);
			if (added) loaded.push(file);
			return result;
		} catch (e) {
			keep(loaded);
			throw e;
		}
	});

	load('module').syncBuiltinESMExports();
	return process[key] = fd;
})()
