// What the host does, apart from the host, so that tests can call it.

export function greet(name: string): string {
  return `hello ${name}`;
}

/** Each value is one item of the result, sent as soon as the caller has asked for it. */
export async function* count(n: number): AsyncGenerator<number> {
  for (let i = 0; i < n; i++) yield i;
}

/** What a host must not do: nothing else runs meanwhile, and hostsup ends the process. */
export function hang(): never {
  for (;;);
}

export function crash(): never {
  process.exit(3);
}
