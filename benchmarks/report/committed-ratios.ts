// The results of the last committed run of `npm run benchmarks:compare`: processor time as a multiple of the bare server's in the same run,
// which is the same on fast and slow machines. The nightly gate compares with it.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** By store, major version of Node and work. */
type Ratios = { readonly [setting: string]: { readonly [work: string]: number } };

const PATH = fileURLToPath(new URL("../ratios.json", import.meta.url));

const read = (): Ratios => (existsSync(PATH) ? (JSON.parse(readFileSync(PATH, "utf8")) as Ratios) : {});

/** Undefined if this was never committed. */
export const committedRatio = (setting: string, work: string): number | undefined => read()[setting]?.[work];

/** The names of all committed work. */
export const committedWorks = (): readonly string[] => Object.values(read()).flatMap((works) => Object.keys(works));

/** Work that was not measured keeps its ratio. */
export function commitRatios(setting: string, measured: ReadonlyMap<string, number>): void {
  const all = read();
  const rounded = [...measured].map(([work, ratio]) => [work, Number(ratio.toFixed(2))]);
  const next = { ...all, [setting]: { ...all[setting], ...Object.fromEntries(rounded) } };
  writeFileSync(PATH, `${JSON.stringify(next, undefined, 2)}\n`);
}
