// Requests to the supervisor, with the token in a header.

const KEY = 'hostsup-token';
let token = '';

// takeToken finds the token: behind the # of the URL, from where it is taken away, or in
// the storage of this tab.
export function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get('token');
  if (given) {
    setToken(given);
    history.replaceState(null, '', location.pathname + '#/');
  } else {
    token = sessionStorage.getItem(KEY) ?? '';
  }
  return token;
}

export function setToken(text) {
  token = text;
  sessionStorage.setItem(KEY, text);
}

export function forgetToken() {
  token = '';
  sessionStorage.removeItem(KEY);
}

// ApiError is an error that the supervisor has answered with, or "disconnected".
export class ApiError extends Error {
  constructor(cls, message, detail = {}) {
    super(message);
    this.cls = cls;
    this.detail = detail;
  }
}

async function send(method, path, body, headers, signal) {
  let res;
  try {
    res = await fetch(path, {
      method, signal, cache: 'no-store', credentials: 'omit', redirect: 'error',
      headers: { Authorization: `Bearer ${token}`, ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (e) {
    if (e.name === 'AbortError') throw e;
    throw new ApiError('disconnected', 'the supervisor cannot be reached');
  }
  if (res.ok) return res;
  const told = await res.json().catch(() => null);
  throw new ApiError(told?.error?.class ?? 'internal', told?.error?.message ?? `the supervisor answered with status ${res.status}`, told?.error);
}

async function json(method, path, body, signal) {
  const res = await send(method, path, body, {}, signal);
  return res.json();
}

export const get = (path, signal) => json('GET', path, undefined, signal);
export const post = (path, body, signal) => json('POST', path, body, signal);

// seg escapes a segment of a path.
export const seg = encodeURIComponent;

// SILENCE is how long a stream may be without a byte: it has a comment every 15 s.
const SILENCE = 40_000;

// stream yields the server-sent events of an answer as {id, event, data}, until its end.
// opened is called when the answer has begun.
// An end that the supervisor does not announce is an ApiError "disconnected".
export async function* stream(path, { method = 'GET', body, headers, signal, opened } = {}) {
  const own = new AbortController();
  const stop = () => own.abort();
  signal?.addEventListener('abort', stop);
  if (signal?.aborted) stop();
  let late;
  const heard = () => {
    clearTimeout(late);
    late = setTimeout(stop, SILENCE);
  };
  try {
    heard();
    const res = await send(method, path, body, { Accept: 'text/event-stream', ...headers }, own.signal);
    opened?.();
    const reader = res.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      heard();
      rest += value;
      let from = 0;
      for (let end; (end = rest.indexOf('\n\n', from)) >= 0; from = end + 2) {
        const ev = parse(rest.slice(from, end));
        if (ev?.event === 'end') {
          if (ev.data.error) throw new ApiError(ev.data.error.class, ev.data.error.message, ev.data.error);
          return;
        }
        if (ev) yield ev;
      }
      rest = rest.slice(from);
    }
  } catch (e) {
    if (e instanceof ApiError || signal?.aborted) throw e;
    throw new ApiError('disconnected', 'the stream was cut off');
  } finally {
    clearTimeout(late);
    signal?.removeEventListener('abort', stop);
    own.abort();
  }
  throw new ApiError('disconnected', 'the stream was cut off');
}

// parse reads the lines of one event; null is a comment.
function parse(block) {
  const ev = { id: '', event: '', data: null };
  for (const line of block.split('\n')) {
    const at = line.indexOf(': ');
    if (at <= 0) continue;
    const [field, value] = [line.slice(0, at), line.slice(at + 2)];
    if (field === 'data') ev.data = JSON.parse(value);
    else if (field in ev) ev[field] = value;
  }
  return ev.data === null ? null : ev;
}
