// What the writer of the crash test and the test itself agree upon.

import type { Revision } from "@postern/apiserver/storage/storage";

export type Acknowledged = { readonly key: string; readonly revision: Revision; readonly deleted: boolean };

export const KEYS = 480;

export function crashKey(index: number): string {
  return `/registry/crash/core/things/${index}`;
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
