// Every behaviour has a case or a reason to have none, and every case a behaviour.

import { expect, test } from "vitest";
import { AREAS, BEHAVIOUR_IDS } from "./areas.ts";
import { CASES_TO_COME, DECIDED_OTHERWISE, WITHOUT_CASE } from "./decisions.ts";
import { findCases } from "./find-cases.ts";

const cases = findCases();
const withCase = new Set(cases.map(({ id }) => id));

test("names no behaviour twice, and those of an area by one letter", () => {
  const ids = AREAS.flatMap(({ behaviours }) => Object.keys(behaviours));
  expect(ids).toHaveLength(BEHAVIOUR_IDS.size);
  for (const { behaviours } of AREAS) expect(new Set(Object.keys(behaviours).map((id) => id[0])).size).toBe(1);
});

test("has a behaviour for every case", () => {
  expect(cases.length).toBeGreaterThan(0);
  expect(cases.filter(({ id }) => !BEHAVIOUR_IDS.has(id))).toEqual([]);
});

test("has a case or a reason for every behaviour", () => {
  const excused = new Set([...Object.keys(WITHOUT_CASE), ...CASES_TO_COME]);
  expect([...BEHAVIOUR_IDS].filter((id) => !withCase.has(id) && !excused.has(id))).toEqual([]);
});

test("excuses nothing that has a case, and decides on nothing that is unknown", () => {
  expect([...Object.keys(WITHOUT_CASE), ...CASES_TO_COME].filter((id) => withCase.has(id))).toEqual([]);
  const named = [...Object.keys(DECIDED_OTHERWISE), ...Object.keys(WITHOUT_CASE), ...CASES_TO_COME];
  expect(named.filter((id) => !BEHAVIOUR_IDS.has(id))).toEqual([]);
});
