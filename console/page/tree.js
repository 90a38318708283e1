// The list of hosts. Only the rows that can be seen are in the document, so that a
// thousand hosts cost what thirty do.

import { el, setAttr, setText } from './dom.js';
import { bytes, cores, rate } from './format.js';
import { model, STATES } from './model.js';

const ROW = 28; // height of a row in pixels, as in style.css
const SPARE = 6; // rows above and below those that are seen

const ORDERS = {
  name: null,
  calls: (a, b) => (b.now.calls_per_second ?? -1) - (a.now.calls_per_second ?? -1),
  cpu: (a, b) => (b.now.cpu_cores ?? -1) - (a.now.cpu_cores ?? -1),
  memory: (a, b) => (b.now.rss_bytes ?? -1) - (a.now.rss_bytes ?? -1),
};

export class Tree {
  #rows = []; // {group} or {host}
  #closed = new Set(); // groups
  #order = 'name';
  #state = ''; // only hosts in this state
  #cursor = 0;
  #chosen = null; // name of a host
  #pool = [];

  constructor(side) {
    this.filter = el('input', {
      type: 'search', placeholder: 'Filter hosts  /', 'aria-label': 'Filter hosts', spellcheck: 'false',
      on: { input: () => this.#again(), keydown: (e) => this.#fromFilter(e) },
    });
    this.chips = el('div', { class: 'chips', role: 'group', 'aria-label': 'States' });
    this.titles = el('div', { class: 'row titles' }, ['name', 'state', 'calls', 'cpu', 'memory'].map((name) => (name === 'state'
      ? el('span', { text: 'state', class: 'c-state' })
      : el('button', { class: `c-${name}`, type: 'button', text: name === 'calls' ? 'calls/s' : name, title: name === 'name' ? 'As configured' : `Most ${name} first`, on: { click: () => this.#sort(name) } }))));
    this.space = el('div', { class: 'space' });
    this.list = el('div', {
      class: 'list', role: 'tree', tabindex: 0, 'aria-label': 'Hosts',
      on: { scroll: () => this.#draw(), keydown: (e) => this.#key(e), click: (e) => this.#click(e) },
    }, this.space);
    side.append(el('div', { class: 'tools' }, this.filter, this.chips), this.titles, this.list);
    new ResizeObserver(() => this.#draw()).observe(this.list);
    model.watch(() => this.#again(), 100);
  }

  // choose marks the host that is shown.
  choose(name) {
    this.#chosen = name;
    this.#draw();
  }

  #sort(name) {
    this.#order = name;
    for (const b of this.titles.querySelectorAll('button')) setAttr(b, 'aria-pressed', b.classList.contains(`c-${name}`));
    this.list.scrollTop = 0;
    this.#again();
  }

  // #again makes the rows of the present hosts.
  #again() {
    const text = this.filter.value.trim().toLowerCase();
    const fits = (h) => (!text || h.name.toLowerCase().includes(text) || h.group.toLowerCase().includes(text) || (h.reason ?? '').toLowerCase().includes(text))
      && (!this.#state || h.state === this.#state);
    const rows = [];
    const order = ORDERS[this.#order];
    if (order) {
      for (const host of [...model.hosts.values()].filter(fits).sort(order)) rows.push({ host, level: 1 });
    } else {
      for (const group of model.groups) {
        const hosts = group.hosts.map((n) => model.hosts.get(n)).filter((h) => h && fits(h));
        if (hosts.length === 0) continue;
        if (group.hosts.length === 1 && group.hosts[0] === group.name) {
          rows.push({ host: hosts[0], level: 1 });
          continue;
        }
        const closed = this.#closed.has(group.name) && !text && !this.#state;
        rows.push({ group, up: hosts.filter((h) => h.state === 'running').length, of: hosts.length, closed, level: 1 });
        if (!closed) for (const host of hosts) rows.push({ host, level: 2 });
      }
    }
    this.#rows = rows;
    this.#cursor = Math.min(this.#cursor, Math.max(0, rows.length - 1));
    this.space.style.height = `${rows.length * ROW}px`;
    this.#count();
    this.#draw();
  }

  // #count shows how many hosts are in each state.
  #count() {
    const counts = Object.fromEntries(STATES.map((s) => [s, 0]));
    for (const h of model.hosts.values()) counts[h.state]++;
    for (const s of STATES) {
      let chip = this.chips.querySelector(`[data-state=${s}]`);
      if (!chip) {
        chip = el('button', {
          class: 'chip', type: 'button', 'data-state': s, 'aria-pressed': 'false',
          on: { click: () => {
            this.#state = this.#state === s ? '' : s;
            for (const c of this.chips.children) setAttr(c, 'aria-pressed', c.dataset.state === this.#state);
            this.#again();
          } },
        }, el('i', { class: 'dot', 'data-state': s, 'aria-hidden': 'true' }), el('b'), ` ${s}`);
        this.chips.append(chip);
      }
      chip.hidden = counts[s] === 0 && this.#state !== s;
      setText(chip.querySelector('b'), String(counts[s]));
    }
  }

  // #draw fills the rows that are seen.
  #draw() {
    const from = Math.max(0, Math.floor(this.list.scrollTop / ROW) - SPARE);
    const to = Math.min(this.#rows.length, Math.ceil((this.list.scrollTop + this.list.clientHeight) / ROW) + SPARE);
    while (this.#pool.length < to - from) {
      const row = el('div', { class: 'row', role: 'treeitem' },
        el('span', { class: 'c-name' }, el('i', { class: 'dot', 'aria-hidden': 'true' }), el('span', { class: 'cut' })),
        ...['state', 'calls', 'cpu', 'memory'].map((c) => el('span', { class: `c-${c}` })));
      this.#pool.push(row);
      this.space.append(row);
    }
    this.#pool.forEach((row, i) => {
      const at = from + i;
      row.hidden = at >= to;
      if (!row.hidden) this.#fill(row, this.#rows[at], at);
    });
    const row = this.#pool[this.#cursor - from];
    setAttr(this.list, 'aria-activedescendant', row && !row.hidden ? row.id : null);
  }

  #fill(row, { host, group, up, of, closed, level }, at) {
    row.style.transform = `translateY(${at * ROW}px)`;
    row.dataset.at = at;
    setAttr(row, 'id', `row-${at}`);
    setAttr(row, 'aria-level', level);
    setAttr(row, 'aria-posinset', at + 1);
    setAttr(row, 'aria-setsize', this.#rows.length);
    setAttr(row, 'data-cursor', at === this.#cursor);
    setAttr(row, 'aria-selected', !!host && host.name === this.#chosen);
    setAttr(row, 'aria-expanded', group ? !closed : null);
    setAttr(row, 'data-group', group ? '' : null);
    const [name, state, calls, cpu, memory] = row.children;
    const [dot, text] = name.children;
    setAttr(dot, 'data-state', group ? (closed ? 'closed' : 'open') : host.state);
    setText(text, group ? group.name : host.name);
    setAttr(text, 'title', group ? null : host.name);
    setText(state, group ? `${up} of ${of}` : host.state);
    setAttr(state, 'data-state', group ? null : host.state);
    const hasProcess = (host?.now.rss_bytes ?? null) !== null;
    setText(calls, host && hasProcess ? rate(host.now.calls_per_second) : '');
    setText(cpu, host && hasProcess ? cores(host.now.cpu_cores) : '');
    setText(memory, host && hasProcess ? bytes(host.now.rss_bytes) : '');
  }

  #open(at) {
    const row = this.#rows[at];
    if (!row) return;
    this.#cursor = at;
    if (row.host) {
      location.hash = `#/host/${encodeURIComponent(row.host.name)}`;
    } else {
      this.#fold(row, !row.closed);
      return;
    }
    this.#draw();
  }

  #fold({ group }, close) {
    if (close) this.#closed.add(group.name);
    else this.#closed.delete(group.name);
    this.#again();
  }

  #click(e) {
    const row = e.target.closest('.row');
    if (row) this.#open(Number(row.dataset.at));
  }

  #key(e) {
    const page = Math.max(1, Math.floor(this.list.clientHeight / ROW) - 1);
    const row = this.#rows[this.#cursor];
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (e.key in moves) this.#move(this.#cursor + moves[e.key]);
    else if (e.key === 'Enter' || e.key === ' ') this.#open(this.#cursor);
    else if (e.key === 'ArrowLeft' && row?.group) this.#fold(row, true);
    else if (e.key === 'ArrowRight' && row?.group) this.#fold(row, false);
    else return;
    e.preventDefault();
  }

  #move(to) {
    this.#cursor = Math.max(0, Math.min(this.#rows.length - 1, to));
    const top = this.#cursor * ROW;
    if (top < this.list.scrollTop) this.list.scrollTop = top;
    else if (top + ROW > this.list.scrollTop + this.list.clientHeight) this.list.scrollTop = top + ROW - this.list.clientHeight;
    this.#draw();
  }

  #fromFilter(e) {
    if (e.key === 'ArrowDown') {
      this.list.focus();
      e.preventDefault();
    } else if (e.key === 'Escape') {
      this.filter.value = '';
      this.#again();
    } else if (e.key === 'Enter') {
      this.#open(this.#rows.findIndex((r) => r.host));
    }
  }
}
