import { performance } from "node:perf_hooks";
import { parseSync } from "oxc-parser";
import { describe, expect, it } from "vitest";
import { expressionsIn } from "./expressions-in.ts";
import { findSuperlinear } from "./find-superlinear.ts";

describe("expressions that take more than linear time", () => {
  it.each([
    /[.!?]+$/,
    /\/+$/,
    /\*+$/,
    /0+$/,
    /\?.*$/,
    /\s*\n\s*/g,
    /\n\s*(?=\S)/,
    /(\d+)\s*([a-z]+)/g,
    /\d+\.\d+\.\d+\.\d+$/,
    /^(.+?)\s*(==|!=)\s*(.+)$/s,
    /^\s*(\w+)\s*(;\s*\w+)*\s*$/,
    /(eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.)[\w-]{8,}/g,
    /-----BEGIN A-----[\s\S]+?-----END A-----/g,
    /^\w+(?=.*x)/,
    /^(a+)+$/,
    /^(a|a)*$/,
    /^(a*)*b/,
    /^(\w|\d)+-$/,
  ])("finds the text that stops %s, and the engine takes as long for it", (expression) => {
    const attack = findSuperlinear(expression);
    expect(attack).toBeDefined();
    if (attack === undefined) return;
    const steps = (count: number): number => {
      const text = attack.prefix + attack.pump.repeat(count) + attack.suffix;
      const copy = new RegExp(expression.source, expression.flags.replace("g", ""));
      const started = performance.now();
      copy.test(text);
      return performance.now() - started;
    };
    // Each text is the smallest part longer that doubles what is superlinear at least; what is linear stays below a millisecond on any machine.
    const [first, next] =
      attack.degree === "exponential"
        ? [8, (count: number) => count + 1]
        : [500, (count: number) => Math.ceil(count * Math.SQRT2)];
    const counts = Array.from({ length: 16 }).reduce<number[]>((all) => [...all, next(all.at(-1) ?? first)], [first]);
    expect(counts.some((count) => steps(Math.ceil(count / attack.pump.length)) > 2)).toBe(true);
  });

  it.each([
    /^0+$/,
    /\s+/,
    /[^!-~]+/,
    /\?.*$/s,
    /^.*?\b(?:key|token):/s,
    /(?<!\d)(\d+)\s*([a-z]+)/g,
    /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/,
    /^ *token: (\S+)$/m,
    /-----BEGIN A-----[^-]+-----END A-----/g,
    /\s+/y,
    /x*/g,
  ])("passes %s", (expression) => expect(findSuperlinear(expression)).toBeUndefined());

  it("refuses what it cannot judge", () => {
    expect(() => findSuperlinear(/(a+)b\1/)).toThrow(RangeError);
  });
});

describe("the expressions of a source text", () => {
  const found = (source: string) =>
    expressionsIn(source, parseSync("a.ts", source).program).map(({ line, expression }) => [line, expression?.source]);

  it.each<[string, [number, string | undefined][]]>([
    ["const a = /x+$/g;", [[1, "x+$"]]],
    ['\nconst a = new RegExp("x+");', [[2, "x+"]]],
    ["const B = 'b+';\nconst a = new RegExp(`^$" + "{B}$`);", [[2, "^b+$"]]],
    [
      "const A = /a+/y;\nconst a = () => new RegExp(A);",
      [
        [1, "a+"],
        [2, "a+"],
      ],
    ],
    ["const a = (b: string) => new RegExp(b);", [[1, undefined]]],
    ["// linear: it is short\nconst a = (b: string) => new RegExp(b);", []],
    ["const a = 'x / y / z'; // /no+$/", []],
  ])("%j", (source, expected) => expect(found(source)).toEqual(expected));
});
