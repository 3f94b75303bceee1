// How tables are shown in this browser: dense or not, and which columns of each table.

import { useState, useSyncExternalStore } from "react";

const DENSITY = "postern-density";
const COLUMNS = "postern-columns";

export type Density = "comfortable" | "compact";

const listeners = new Set<() => void>();
const densityNow = (): Density => (localStorage.getItem(DENSITY) === "compact" ? "compact" : "comfortable");

/** The density of all tables of the page at once. */
export function useDensity(): readonly [Density, (density: Density) => void] {
  const density = useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, densityNow);
  const choose = (chosen: Density): void => {
    localStorage.setItem(DENSITY, chosen);
    for (const listener of listeners) listener();
  };
  return [density, choose];
}

/** The IDs of columns that are not shown. `table`: its name. */
export function useHiddenColumns(
  table: string,
): readonly [ReadonlySet<string>, (id: string, isShown: boolean) => void] {
  const stored = `${COLUMNS}-${table}`;
  const [hidden, setHidden] = useState<ReadonlySet<string>>(
    () => new Set((localStorage.getItem(stored) ?? "").split(",").filter((id) => id !== "")),
  );
  const show = (id: string, isShown: boolean): void => {
    const next = new Set(hidden);
    if (isShown) next.delete(id);
    else next.add(id);
    if (next.size === 0) localStorage.removeItem(stored);
    else localStorage.setItem(stored, [...next].join(","));
    setHidden(next);
  };
  return [hidden, show];
}
