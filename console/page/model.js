// What the page knows of the tree: the status at first, then events as they happen and
// samples as they are taken. Views are told of changes once a frame.

import { ApiError, get, stream } from './api.js';

export const HOUR = 3600_000;
const KEPT_STEPS = 400; // of the history of one host
const KEPT_EVENTS = 300;
const COLUMNS = ['calls_per_second', 'p50_seconds', 'p99_seconds', 'pending', 'rss_bytes', 'cpu_cores', 'restarts', 'state'];

export const STATES = ['running', 'unresponsive', 'crashed', 'failed', 'restarting', 'starting', 'stopping', 'stopped'];

const wait = (ms) => new Promise((done) => setTimeout(done, ms));

class Model {
  caller = { token: null, role: 'read' };
  supervisor = null;
  groups = [];
  parts = []; // exec servers
  hosts = new Map(); // by name: the status, with steps (of the history) and now (newest figures)
  events = []; // newest last
  live = false;
  interval = 5;

  #views = new Set();
  #due = false;
  #seq = 0; // of the newest event
  #last = 0; // number of the newest sample
  #focus = null; // host whose samples are kept
  #refresh = 0;

  // watch calls f once a frame after a change, at most every so many ms, and now. It returns
  // what ends that.
  watch(f, every = 0) {
    const view = { f, every, next: 0 };
    this.#views.add(view);
    f();
    return () => this.#views.delete(view);
  }

  changed() {
    if (this.#due) return;
    this.#due = true;
    requestAnimationFrame((now) => {
      this.#due = false;
      for (const view of this.#views) {
        if (now >= view.next) {
          view.next = now + view.every;
          view.f();
        } else {
          clearTimeout(view.later);
          view.later = setTimeout(() => this.changed(), view.next - now);
        }
      }
    });
  }

  // may reports whether the caller's role includes another one.
  may(role) {
    const roles = ['read', 'operate', 'full'];
    return roles.indexOf(this.caller.role) >= roles.indexOf(role);
  }

  // run keeps the model current until the token is refused, which it throws.
  async run() {
    for (let pause = 500; ; pause = Math.min(2 * pause, 5000)) {
      const stop = new AbortController();
      try {
        await this.#load();
        this.#poll(stop.signal);
        const opened = () => {
          this.live = true;
          pause = 500;
          this.changed();
        };
        for await (const ev of stream('/v1/events?follow=true', { headers: this.#seq ? { 'Last-Event-ID': this.#seq } : {}, signal: stop.signal, opened })) {
          this.#take(ev);
          this.changed();
        }
      } catch (e) {
        if (!(e instanceof ApiError)) console.error(e);
        if (e.cls === 'unauthorized') throw e;
      } finally {
        stop.abort();
      }
      this.live = false;
      this.changed();
      await wait(pause);
    }
  }

  async #load() {
    this.caller = await get('/v1/caller');
    await this.#status();
  }

  async #status() {
    const st = await get('/v1/status');
    if (this.supervisor && this.supervisor.started !== st.supervisor.started) { // another one
      this.hosts.clear();
      this.events = [];
      this.#seq = this.#last = 0;
    }
    this.supervisor = st.supervisor;
    this.groups = st.groups;
    this.parts = st.exec_servers;
    const before = this.hosts;
    this.hosts = new Map(st.hosts.map((h) => [h.name, { steps: before.get(h.name)?.steps ?? [], now: before.get(h.name)?.now ?? {}, ...h }]));
    this.changed();
  }

  // reload asks for the status again, soon and once for many changes.
  reload(after = 300) {
    clearTimeout(this.#refresh);
    this.#refresh = setTimeout(() => this.#status().catch(() => {}), after); // the stream tells of the failure
  }

  #take({ id, event, data }) {
    if (event === 'lost') return this.reload();
    this.#seq = Number(id);
    this.events.push(data);
    if (this.events.length > 2 * KEPT_EVENTS) this.events.splice(0, KEPT_EVENTS);
    if (['added', 'removed', 'replaced', 'reloaded'].includes(data.kind) && Date.parse(data.time) > Date.now() - 60_000) this.reload();
    const host = this.hosts.get(data.host);
    if (!host || data.kind !== 'state') return;
    const at = Date.parse(data.time);
    host.steps.push({ at, from: data.from, state: data.to, reason: data.reason });
    if (host.steps.length > 2 * KEPT_STEPS) host.steps.splice(0, KEPT_STEPS);
    if (at < Date.parse(host.since)) return; // the status is newer
    Object.assign(host, { state: data.to, reason: data.reason || null, since: data.time, life: data.life ?? host.life, pid: data.pid });
    if (data.exit) host.last_exit = data.exit;
    if (data.crash_id) host.crash_id = data.crash_id;
    if (data.to === 'starting') host.started = data.time;
    if (this.#focus?.name === host.name) this.reload(1000);
  }

  // focus keeps the samples of one host, or with null of none.
  async focus(name) {
    if (this.#focus?.name === name) return;
    this.#focus = name && { name, times: [], columns: Object.fromEntries(COLUMNS.map((c) => [c, []])) };
    if (!name) return;
    const mine = this.#focus;
    const got = await get(`/v1/samples?host=${encodeURIComponent(name)}`).catch(() => null);
    if (!got || this.#focus !== mine) return;
    mine.times = [];
    for (const c of COLUMNS) mine.columns[c] = [];
    this.#append(mine, got, got.hosts[0]);
    this.changed();
  }

  // series returns the samples of the host that has the focus.
  get series() {
    return this.#focus;
  }

  #append(to, got, host) {
    if (!host) return;
    const past = to.times.at(-1) ?? 0;
    got.times.slice(host.skip).forEach((time, i) => {
      const at = Date.parse(time);
      if (at <= past) return;
      to.times.push(at);
      for (const c of COLUMNS) to.columns[c].push(host[c][i]);
    });
    const old = to.times.findIndex((t) => t >= Date.now() - HOUR - 60_000);
    if (old > 60) {
      to.times.splice(0, old);
      for (const c of COLUMNS) to.columns[c].splice(0, old);
    }
  }

  // #poll takes new samples as long as the page can be seen.
  async #poll(signal) {
    while (!signal.aborted) {
      if (!document.hidden) {
        try {
          const got = await get(this.#last ? `/v1/samples?since=${this.#last}&n=12` : '/v1/samples?n=1', signal);
          this.#last = got.last;
          this.interval = got.interval_seconds;
          for (const h of got.hosts) this.#figures(h);
          if (this.#focus && got.times.length > 0) this.#append(this.#focus, got, got.hosts.find((h) => h.name === this.#focus.name));
          if (got.times.length > 0) this.changed();
        } catch (e) {
          if (signal.aborted) return;
          if (e.cls === 'invalid') this.#last = 0; // too many hosts for so many samples
        }
      }
      await wait(this.interval * 1000);
    }
  }

  #figures(h) {
    const host = this.hosts.get(h.name);
    if (!host || h.state.length === 0) return;
    host.now = Object.fromEntries(COLUMNS.map((c) => [c, h[c].at(-1)]));
    host.restarts = host.now.restarts;
  }
}

export const model = new Model();
