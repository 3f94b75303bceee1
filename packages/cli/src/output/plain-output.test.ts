import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { CommandContext } from "../command-context.ts";
import { type OutputFormat, writeAs } from "./output-option.ts";

/** Colours, a title of the window, C1 controls, another direction of the text. */
const HOSTILE = [
  "\u001b[31m",
  "\u001b]0;x\u0007",
  "\u009b2J",
  "\u0085",
  "\u202egnp",
  "\u2066",
  "\u2028",
  "\u200f",
  "\u061c",
];
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are looked for
const ACTIVE = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

function printed(output: OutputFormat, value: object, names: readonly string[] = []): string {
  let text = "";
  const stdout = { write: (part: string) => (text += part) };
  writeAs({ output }, JSON.parse(JSON.stringify(value)), { stdout } as unknown as CommandContext, names);
  return text;
}

describe("output for programs", () => {
  const value = {
    list: HOSTILE,
    ...Object.fromEntries(HOSTILE.map((text) => [`key ${text}`, text])),
    lines: "one\ntwo \u009b\n",
    plain: "one\ntwo\n",
    é: "日本語 😀",
  };

  it.each(["json", "yaml"] as const)(
    "has no characters as %s that a terminal acts on, and the same values",
    (format) => {
      const text = printed(format, value);
      expect(text).not.toMatch(ACTIVE);
      expect(format === "json" ? JSON.parse(text) : parse(text)).toEqual(value);
      expect(text).toContain("日本語 😀");
    },
  );

  it("has a name on each line", () => {
    const text = printed("name", [], HOSTILE);
    expect(text).not.toMatch(ACTIVE);
    expect(text.split("\n")).toHaveLength(HOSTILE.length + 1);
  });
});
