// Small charts of the last hour, which share a crosshair.

import { el, setText, svg } from './dom.js';
import { clock, span } from './format.js';
import { HOUR } from './model.js';

const W = 600;
const H = 72;

// nice is the least round number that is not below v: 1, 2 or 5 times a power of ten, of
// a power of 1024 for bytes.
function nice(v, binary) {
  if (!(v > 0)) return 1;
  const unit = binary ? 1024 ** Math.floor(Math.log(v) / Math.log(1024)) : 1;
  const p = unit * 10 ** Math.floor(Math.log10(v / unit));
  return [1, 2, 5, 10].map((m) => m * p).find((m) => m >= v * 0.999);
}

// Chart draws lines of figures. lines are {name, column}, show makes a text of a figure.
export class Chart {
  constructor(title, lines, show, { floor = 0, binary = false } = {}) {
    Object.assign(this, { title, lines, show, floor, binary, area: lines.length === 1 });
    this.now = el('span', { class: 'now' });
    this.values = lines.map(() => el('b'));
    this.top = el('span', { class: 'top-label dim' });
    this.paths = lines.map((_, i) => [
      svg('path', { class: `area line-${i}` }),
      svg('path', { class: `stroke line-${i}`, 'vector-effect': 'non-scaling-stroke' }),
    ]);
    this.cross = svg('line', { class: 'cross', y1: 0, y2: H, 'vector-effect': 'non-scaling-stroke', visibility: 'hidden' });
    this.canvas = svg('svg', { viewBox: `0 0 ${W} ${H}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' },
      svg('path', { class: 'grid', d: `M0 .5H${W}M0 ${H / 2}H${W}M0 ${H - 0.5}H${W}`, 'vector-effect': 'non-scaling-stroke' }),
      this.paths.flat(), this.cross);
    this.node = el('figure', { class: 'chart', role: 'img' },
      el('figcaption', null, el('span', { text: title }),
        lines.length > 1 ? el('span', { class: 'keys' }, lines.map((l, i) => el('span', null, el('i', { class: `key line-${i}`, 'aria-hidden': 'true' }), `${l.name} `, this.values[i])))
          : this.now),
      el('div', { class: 'canvas' }, this.canvas, this.top));
  }

  draw(series, end) {
    const begin = end - HOUR;
    const { times, columns } = series ?? { times: [], columns: {} };
    const sets = this.lines.map((l) => columns[l.column] ?? []);
    let most = this.floor;
    for (const values of sets) for (const v of values) if (v > most) most = v;
    const max = nice(most, this.binary);
    const x = (t) => (((t - begin) / HOUR) * W).toFixed(1);
    const y = (v) => (H - 2 - (v / max) * (H - 6)).toFixed(1);
    sets.forEach((values, i) => {
      let stroke = '';
      let area = '';
      let open = null; // x of the first point of what is being drawn
      let at = 0;
      values.forEach((v, k) => {
        const gap = k > 0 && times[k] - times[k - 1] > 30_000;
        if (open !== null && (v === null || gap)) {
          area += `L${x(at)} ${H}L${open} ${H}Z`;
          open = null;
        }
        if (v === null) return;
        at = times[k];
        stroke += `${open === null ? 'M' : 'L'}${x(at)} ${y(v)}`;
        area += `${open === null ? 'M' : 'L'}${x(at)} ${y(v)}`;
        if (open === null) {
          open = x(at);
          stroke += 'h.01'; // a point alone is seen, too
        }
      });
      if (open !== null) area += `L${x(at)} ${H}L${open} ${H}Z`;
      this.paths[i][0].setAttribute('d', this.area ? area : '');
      this.paths[i][1].setAttribute('d', stroke);
    });
    setText(this.top, times.length ? this.show(max) : '');
    this.data = { times, sets, begin };
    this.point(null);
    const last = sets.map((v, i) => `${this.lines[i].name} ${this.show(v.at(-1))}`).join(', ');
    this.node.setAttribute('aria-label', `${this.title} over the last hour: now ${last}, at most ${this.show(most || null)}`);
  }

  // point shows the figures of one sample, or with null the newest.
  point(k) {
    const { times, sets, begin } = this.data;
    const i = k ?? times.length - 1;
    sets.forEach((v, k) => setText(sets.length > 1 ? this.values[k] : this.now, this.show(v[i])));
    this.cross.setAttribute('visibility', k === null ? 'hidden' : 'visible');
    if (k !== null) {
      const at = ((times[k] - begin) / HOUR) * W;
      this.cross.setAttribute('x1', at);
      this.cross.setAttribute('x2', at);
    }
  }
}

// Timeline draws the states of a host over the last hour.
export class Timeline {
  constructor() {
    this.bar = svg('svg', { viewBox: `0 0 ${W} 20`, preserveAspectRatio: 'none', 'aria-hidden': 'true' });
    this.now = el('span', { class: 'now' });
    this.node = el('figure', { class: 'chart timeline', role: 'img' },
      el('figcaption', null, el('span', { text: 'State' }), this.now),
      el('div', { class: 'canvas' }, this.bar),
      el('div', { class: 'axis dim' }, ['−60 min', '−45', '−30', '−15', 'now'].map((t) => el('span', { text: t }))));
  }

  // draw shows steps, the history of the host, and before its first one what samples say.
  draw(host, series, end) {
    const begin = end - HOUR;
    const parts = []; // {at, state, reason}
    const steps = host.steps;
    const first = steps.length ? steps[0].at : Infinity;
    series?.times.forEach((at, i) => {
      const state = series.columns.state[i];
      if (at < first && parts.at(-1)?.state !== state) parts.push({ at, state, reason: '' });
    });
    if (parts.length === 0 && steps[0]?.from) parts.push({ at: begin, state: steps[0].from, reason: '' });
    parts.push(...steps);
    if (parts.length === 0) parts.push({ at: Date.parse(host.since), state: host.state, reason: host.reason });
    this.parts = parts.map((p, i) => ({ ...p, end: parts[i + 1]?.at ?? end })).filter((p) => p.end > begin);
    this.begin = begin;
    const x = (t) => Math.max(0, ((t - begin) / HOUR) * W);
    // What is shorter than a pixel or so is still seen; the newest is drawn last.
    this.bar.replaceChildren(...this.parts.map((p) => svg('rect', { x: x(p.at).toFixed(2), width: Math.max(1.5, x(p.end) - x(p.at)).toFixed(2), y: 0, height: 20, 'data-state': p.state })));
    const changes = this.parts.length - 1;
    this.node.setAttribute('aria-label', `State over the last hour: ${changes} ${changes === 1 ? 'change' : 'changes'}, now ${host.state}`);
    this.point(null);
  }

  point(at) {
    if (at === null) {
      const p = this.parts.at(-1);
      setText(this.now, p ? `${p.state} for ${span((p.end - p.at) / 1000)}` : '');
      return;
    }
    const p = this.parts.findLast((q) => q.at <= at);
    setText(this.now, p ? `${clock(p.at)} ${p.state}${p.reason ? `: ${p.reason}` : ''}` : '');
  }
}

// crosshair lets the pointer choose the time that all charts of a grid show.
export function crosshair(grid, timeline, charts) {
  let frame = 0;
  const clear = () => {
    cancelAnimationFrame(frame);
    for (const c of charts) c.point(null);
    timeline.point(null);
  };
  grid.addEventListener('pointermove', (e) => {
    const canvas = e.target.closest('.canvas');
    const data = charts[0].data;
    if (!canvas || !data) return clear();
    const box = canvas.getBoundingClientRect();
    const at = data.begin + ((e.clientX - box.left) / box.width) * HOUR;
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      let k = data.times.findIndex((t) => t >= at);
      if (k < 0) k = data.times.length - 1;
      for (const c of charts) c.point(k >= 0 ? k : null);
      timeline.point(at);
    });
  });
  grid.addEventListener('pointerleave', clear);
}
