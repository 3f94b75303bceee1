// Maps whose values are one object or more.

/** Most have one: a set for each of them takes as long to make, and as much memory, as the rest of an index. */
export type OneOrMore<T extends object> = T | Set<T>;

const NONE: readonly never[] = [];

export function all<T extends object>(values: OneOrMore<T> | undefined): readonly T[] {
  if (values === undefined) return NONE;
  return values instanceof Set ? [...values] : [values];
}

export function addTo<T extends object>(map: Map<string, OneOrMore<T>>, key: string, value: T): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, value);
  else if (known instanceof Set) known.add(value);
  else map.set(key, new Set([known, value]));
}

/** Whether it was there. */
export function removeFrom<T extends object>(map: Map<string, OneOrMore<T>>, key: string, value: T): boolean {
  const known = map.get(key);
  if (known === value) return map.delete(key);
  if (!(known instanceof Set)) return false;
  const wasThere = known.delete(value);
  if (known.size === 0) map.delete(key);
  return wasThere;
}
