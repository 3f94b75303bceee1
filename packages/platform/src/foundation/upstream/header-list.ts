// Headers as names and values in turns. Clients choose names: an object of them costs several times as much to make and to read.

import type { OutgoingHttpHeaders } from "node:http";

/** A name may come more than once. */
export type HeaderList = readonly string[];

/** The list without the headers of these names, which are in lower case. */
export function withoutHeaders(list: HeaderList, names: readonly string[]): string[] {
  const others: string[] = [];
  for (let at = 0; at < list.length; at += 2) {
    const [name = "", value = ""] = [list[at], list[at + 1]];
    if (!names.includes(name)) others.push(name, value);
  }
  return others;
}

/** The headers of an object as such a list. */
export function headerList(headers: OutgoingHttpHeaders | HeaderList): HeaderList {
  if (isList(headers)) return headers;
  const list: string[] = [];
  for (const [name, value = []] of Object.entries(headers)) {
    for (const each of Array.isArray(value) ? value : [value]) list.push(name, String(each));
  }
  return list;
}

const isList = (headers: OutgoingHttpHeaders | HeaderList): headers is HeaderList => Array.isArray(headers);
