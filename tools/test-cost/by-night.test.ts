import { expect, it } from "vitest";
import { casesOf, everyCase, namedCasesOf } from "./by-night.ts";

it("keeps by day the cases that are named, and by night all", () => {
  const cases = [{ name: "a" }, { name: "b" }];
  const named = (...names: readonly string[]) => namedCasesOf(cases, ({ name }) => name, names);
  expect(named("b")).toEqual(everyCase ? cases : [{ name: "b" }]);
  expect(() => named("b", "renamed")).toThrow("no case is named renamed");
  expect(casesOf(cases, (_, index) => index === 0)).toEqual(everyCase ? cases : [{ name: "a" }]);
});
