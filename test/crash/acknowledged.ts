// Keys and values that the writer of the crash test and the test itself agree upon.

import type { Revision } from "@postern/apiserver/storage/storage";

export type Acknowledged = { readonly key: string; readonly revision: Revision; readonly deleted: boolean };

export const KEYS = 480;
/** Each has keys of its own, so that nobody is refused, and waits for one write at a time. */
export const WRITERS = 16;

const PREFIX = "/registry/crash/core/things/";

export function crashKey(index: number): string {
  return `${PREFIX}${index}`;
}

export function writerOf(key: string): number {
  return Number(key.slice(PREFIX.length)) % WRITERS;
}

/** A value that shows whether it is whole: a header with its length, then one word over and over. */
export function crashValue(id: number, length: number): Uint8Array {
  const word = `${id}.`;
  return Buffer.from(`${word}${length}:${word.repeat(Math.ceil(length / word.length)).slice(0, length)}`);
}

export function isWhole(value: Uint8Array): boolean {
  const text = Buffer.from(value).toString();
  const [, id, length] = /^(\d+)\.(\d+):/.exec(text) ?? [];
  return id !== undefined && text === Buffer.from(crashValue(Number(id), Number(length))).toString();
}
