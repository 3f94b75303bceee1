// The cases of a file that `npm test` leaves to the night (ADR 117): expensive ones, beside cheaper ones of the same kind that it keeps.

import { test } from "vitest";

/** Whether all cases run: EVERY_CASE=1, as in each run of `npm run nightly`. */
export const everyCase = process.env["EVERY_CASE"] !== undefined;

/** A test that only runs by night. */
export const byNight = test.skipIf(!everyCase);

/** All cases by night; by day those for which `isKept` is true. Never none: a file whose cases were renamed must not pass without any. */
export function casesOf<Case>(all: readonly Case[], isKept: (each: Case, index: number) => boolean): readonly Case[] {
  const kept = everyCase ? all : all.filter(isKept);
  if (kept.length === 0) throw new Error("none of the cases is kept by day");
  return kept;
}

/** The same with the names of those that are kept by day. Throws for a name that no case has, so that a renamed case is not lost. */
export function namedCasesOf<Case>(
  all: readonly Case[],
  nameOf: (each: Case) => string,
  kept: readonly string[],
): readonly Case[] {
  const names = new Set(all.map(nameOf));
  const unknown = kept.filter((name) => !names.has(name));
  if (unknown.length > 0) throw new Error(`no case is named ${unknown.join(" or ")}`);
  return casesOf(all, (each) => kept.includes(nameOf(each)));
}
