// One host: what it does, and what it did in the last hour.

import { verbButtons } from './actions.js';
import { Chart, crosshair, Timeline } from './charts.js';
import { crashesView } from './crashes.js';
import { el, facts, setAttr, setText } from './dom.js';
import { extensionsView } from './extensions.js';
import { ago, bytes, clock, cores, count, exit, rate, took } from './format.js';
import { logsView } from './logs.js';
import { model } from './model.js';
import { sandboxView } from './sandbox.js';

const TABS = [['', 'Overview', overview], ['logs', 'Logs', logsView], ['crashes', 'Crashes', crashesView], ['extensions', 'Extensions', extensionsView], ['sandbox', 'Sandbox', sandboxView]];

export function hostView(main, name, tab) {
  const state = el('span', { class: 'badge' });
  const reason = el('span', { class: 'reason' });
  const buttons = verbButtons(name);
  const at = encodeURIComponent(name);
  const body = el('div', { class: 'body', role: 'tabpanel', 'aria-label': TABS.find(([t]) => t === tab)?.[1] });
  main.append(
    el('div', { class: 'head' },
      el('a', { class: 'phone back', href: '#/hosts', text: '‹ Hosts' }),
      el('h1', { class: 'cut', text: name, title: name }), state, reason, el('span', { class: 'space' }), buttons.row),
    el('div', { class: 'tabs', role: 'tablist', on: { keydown: arrows } }, TABS.map(([t, text]) => el('a', {
      role: 'tab', href: `#/host/${at}${t && `/${t}`}`, text, 'aria-selected': t === tab, tabindex: t === tab ? 0 : -1,
    }))),
    body);
  const make = TABS.find(([t]) => t === tab)?.[2] ?? overview;
  let leave = null;
  const unwatch = model.watch(() => {
    const host = model.hosts.get(name);
    setText(state, host?.state ?? (model.supervisor ? 'no such host' : '…'));
    setAttr(state, 'data-state', host?.state ?? null);
    setText(reason, host?.reason ?? '');
    if (!host) return;
    buttons.update(host);
    leave ??= make(body, name) ?? (() => {});
  });
  return () => {
    unwatch();
    leave?.();
  };
}

// arrows moves between tabs by keyboard.
function arrows(e) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
  if (!step || e.target.role !== 'tab') return;
  const tabs = [...e.currentTarget.children];
  const to = tabs[(tabs.indexOf(e.target) + step + tabs.length) % tabs.length];
  to.click();
  requestAnimationFrame(() => document.querySelector('[role=tab][aria-selected=true]')?.focus());
}

function overview(body, name) {
  const timeline = new Timeline();
  const charts = [
    new Chart('Processor', [{ name: 'of one core', column: 'cpu_cores' }], cores, { floor: 0.01 }),
    new Chart('Memory', [{ name: 'bytes', column: 'rss_bytes' }], bytes, { floor: 1 << 20, binary: true }),
    new Chart('Calls a second', [{ name: 'calls', column: 'calls_per_second' }], rate, { floor: 1 }),
    new Chart('Response', [{ name: 'p50', column: 'p50_seconds' }, { name: 'p99', column: 'p99_seconds' }], took, { floor: 0.001 }),
    new Chart('Pending calls', [{ name: 'pending', column: 'pending' }], count, { floor: 1 }),
    new Chart('Restarts', [{ name: 'restarts', column: 'restarts' }], count, { floor: 1 }),
  ];
  const list = el('div', { class: 'facts-box' });
  const grid = el('div', { class: 'charts' }, timeline.node, charts.map((c) => c.node));
  const steps = el('ol', { class: 'steps' });
  crosshair(grid, timeline, charts);
  body.append(list, grid, el('h2', { text: 'Latest changes' }), steps);
  model.focus(name);
  let drawn = 0; // when the charts were
  let known = '';
  const unwatch = model.watch(() => {
    const host = model.hosts.get(name);
    if (!host) return;
    const newest = model.series?.times.at(-1) ?? 0;
    const last = host.steps.at(-1)?.at ?? 0;
    const key = [newest, model.series?.times.length, last, host.steps.length, host.life, host.pid].join();
    if (key === known && Date.now() - drawn < 4000) return;
    known = key;
    drawn = Date.now();
    const series = model.series?.name === name ? model.series : null;
    for (const c of charts) c.draw(series, drawn);
    timeline.draw(host, series, drawn);
    list.replaceChildren(factsOf(host));
    steps.replaceChildren(...host.steps.slice(-12).reverse().map((s) => el('li', null,
      el('time', { class: 'dim', text: clock(s.at, true) }), el('span', { 'data-state': s.state, class: 'word', text: s.state }), el('span', { class: 'cut', text: s.reason, title: s.reason }))));
  });
  return () => {
    unwatch();
    model.focus(null);
  };
}

const factsOf = (h) => facts([
  ['pid', h.pid === null ? null : String(h.pid)],
  ['life', String(h.life)],
  ['up', h.pid === null || !h.started ? null : ago(h.started)],
  ['restarts', String(h.restarts)],
  ['crashes', `${h.crashes_in_window} of ${h.max_crashes} in the window`],
  ['last exit', h.last_exit && `${exit(h.last_exit)}, ${ago(h.last_exit.at)} ago`],
  ['last crash', h.crash_id && el('a', { href: `#/crashes/${encodeURIComponent(h.crash_id)}`, text: 'report' })],
  ['protocol', h.protocol],
  ['liveness', h.liveness],
  ['group', h.group === h.name ? null : h.group],
  ['needs', h.depends_on.join(', ')],
  ['started in', h.startup_seconds === null ? null : took(h.startup_seconds)],
  ['calls', h.calls ? `${h.calls}, ${took(h.average_response_seconds)} on average` : null],
  ['sandbox', h.sandbox.level],
]);
