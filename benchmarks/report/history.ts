// The figures of earlier builds in benchmarks/history.json, and what the benchmark writes from them: a plot for each row, and the newest table in
// RESULTS.md.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { drawPlot } from "./draw-plot.ts";

export type HistoryRun = {
  /** Such as 2026-11-26. */
  readonly date: string;
  /** Abbreviated commit. */
  readonly build: string;
  /** Processor time of the server above that of the bare server in the same run, in µs for each request or event, by work. */
  readonly aboveBare: { readonly [work: string]: number };
};

const FOLDER = join(import.meta.dirname, "..");
const HISTORY = join(FOLDER, "history.json");
const PLOTS = join(FOLDER, "plots");

export const readHistory = (): readonly HistoryRun[] =>
  JSON.parse(readFileSync(HISTORY, "utf8")) as readonly HistoryRun[];

/** A second run of a build takes the place of the first. */
export function addToHistory(run: HistoryRun): readonly HistoryRun[] {
  const history = [...readHistory().filter(({ build }) => build !== run.build), run];
  writeFileSync(HISTORY, `${JSON.stringify(history, null, 2)}\n`);
  return history;
}

/** In the order in which they first occur. */
export const worksIn = (history: readonly HistoryRun[]): readonly string[] => [
  ...new Set(history.flatMap(({ aboveBare }) => Object.keys(aboveBare))),
];

export const plotName = (work: string): string =>
  `${work
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replace(/-$/, "")}.svg`;

export function plotOf(work: string, history: readonly HistoryRun[]): string {
  const points = history.flatMap(({ date, build, aboveBare }) => {
    const value = aboveBare[work];
    return value === undefined ? [] : [{ label: `${date} ${build}`, value }];
  });
  return drawPlot(work, "µs above the bare server", points);
}

export function writePlots(history: readonly HistoryRun[]): void {
  for (const work of worksIn(history)) writeFileSync(join(PLOTS, plotName(work)), plotOf(work, history));
}

const BEGIN = "<!-- The newest run: written by `npm run benchmarks -- --results benchmarks/RESULTS.md`. -->";
const END = "<!-- End of the newest run. -->";

/** The page with another newest run; the rest of it is written by hand. Throws if the page has no place for it. */
export function withNewestRun(page: string, text: string): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`the page has no lines ${BEGIN} and ${END}`);
  return `${page.slice(0, begin)}${BEGIN}\n\n${text.trim()}\n\n${page.slice(end)}`;
}
