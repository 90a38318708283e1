// Figures as people read them. Unknown ones are a dash.

const DASH = '–';
const known = (v) => v !== null && v !== undefined && !Number.isNaN(v);

const digits = (v) => (v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v.toFixed(2)).replace(/\.0+$/, '');

export function bytes(v) {
  if (!known(v)) return DASH;
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let i = 0;
  while (v >= 1000 && i < units.length - 1) {
    v /= 1024;
    i++;
  }
  return `${i === 0 ? v : digits(v)} ${units[i]}`;
}

export const cores = (v) => (known(v) ? `${v < 0.1 ? (v * 100).toFixed(1) : (v * 100).toFixed(0)} %` : DASH);
export const rate = (v) => (known(v) ? (v === 0 ? '0' : digits(v)) : DASH);
export const count = (v) => (known(v) ? String(Math.round(v)) : DASH);

// took is a duration of seconds with the unit that fits.
export function took(v) {
  if (!known(v)) return DASH;
  if (v < 0.001) return `${digits(v * 1e6)} µs`;
  if (v < 1) return `${digits(v * 1e3)} ms`;
  if (v < 60) return `${digits(v)} s`;
  return span(v);
}

// span is a long duration of seconds in two units.
export function span(v) {
  if (!known(v)) return DASH;
  const s = Math.max(0, Math.floor(v));
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m ${s % 60}s`;
  if (s < 86400) return `${Math.floor(s / 3600)}h ${Math.floor((s % 3600) / 60)}m`;
  return `${Math.floor(s / 86400)}d ${Math.floor((s % 86400) / 3600)}h`;
}

// ago is the time since, coarse enough not to change its width all the time.
export function ago(time) {
  if (!time) return DASH;
  const s = (Date.now() - Date.parse(time)) / 1000;
  return s >= 60 && s < 3600 ? `${Math.floor(s / 60)} min` : span(s);
}

const two = (n) => String(n).padStart(2, '0');

export function clock(time, fraction = false) {
  const d = new Date(time);
  const text = `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
  return fraction ? `${text}.${String(d.getMilliseconds()).padStart(3, '0')}` : text;
}

// moment has the date if it is another day.
export function moment(time) {
  const d = new Date(time);
  const day = d.toDateString() === new Date().toDateString() ? '' : `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} `;
  return day + clock(time);
}

// plain takes the control sequences of terminals out of a line.
export const plain = (text) => text.replace(/\u001b(\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(\u0007|\u001b\\)|[@-Z\\-_])/g, '')
  .replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, '\ufffd');

// exit describes how a process ended.
export const exit = (e) => (!e ? DASH : e.signal ? `killed by ${e.signal}` : known(e.code) ? `exit ${e.code}` : e.reason);
