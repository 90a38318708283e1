import type { Connection } from "./connection.js";
import type { Trace } from "./writer.js";

const most = 1024; // that wait; then nothing is read

/** What a handler of notifications is given besides the params. */
export interface NoteContext {
  readonly method: string;
  readonly trace: Trace | undefined;
}

export type NoteHandler<P> = (params: P, ctx: NoteContext) => unknown;

interface Note {
  fn: NoteHandler<unknown>;
  params: unknown;
  ctx: NoteContext;
}

/** Notes has the notifications of a connection handled one after the other, in order. */
export class Notes {
  private readonly queue: Note[] = [];
  private busy = false;

  constructor(private readonly conn: Connection) {}

  get full(): boolean {
    return this.queue.length > most;
  }

  /** Notifications whose handlers have not returned. */
  get open(): number {
    return this.queue.length + (this.busy ? 1 : 0);
  }

  push(method: string, params: () => unknown, trace: Trace | undefined): void {
    const fn = this.conn.host.noteHandler(method);
    if (fn === undefined || this.conn.ending.refusing) return;
    try {
      this.queue.push({ fn, params: params(), ctx: { method, trace } });
    } catch (e) {
      this.conn.host.settings.log(`the params of the notification ${method} cannot be read`, e);
    }
  }

  run(): void {
    while (!this.busy) {
      const note = this.queue.shift();
      if (note === undefined) return;
      let v: unknown;
      try {
        v = note.fn(note.params, note.ctx);
        if (typeof v !== "object" || v === null || typeof (v as PromiseLike<unknown>).then !== "function") continue;
      } catch (e) {
        this.failed(note, e);
        continue;
      }
      this.busy = true;
      (v as PromiseLike<unknown>).then(
        () => this.next(),
        (e) => {
          this.failed(note, e);
          this.next();
        },
      );
    }
  }

  private next(): void {
    this.busy = false;
    this.run();
    if (!this.full) this.conn.drained();
    this.conn.ending.check();
  }

  private failed(note: Note, e: unknown): void {
    this.conn.host.settings.log(`the handler of the notification ${note.ctx.method} failed`, e);
  }
}
