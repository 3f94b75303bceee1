import { describe, expect, it } from "vitest";
import { terminalText } from "./terminal-text.ts";

const ESC = "\x1b";

describe("output of a recording", () => {
  it.each([
    `${ESC}[1;31mred${ESC}[0m`,
    `${ESC}[2J${ESC}[10;20H`,
    `${ESC}[?1049h${ESC}[?25l`,
    `${ESC}7${ESC}8${ESC}M${ESC}(B`,
    "a\r\nb\tc\b",
    "ü€😀",
  ])("keeps %j on a terminal", (text) => {
    expect(terminalText(true)(text)).toBe(text);
  });

  it.each([
    ["a title", `${ESC}]0;title\x07`],
    ["the clipboard", `${ESC}]52;c;aGk=${ESC}\\`],
    ["a question for the title", `${ESC}[21t`],
    ["a question for the place", `${ESC}[6n`],
    ["a question for the terminal", `${ESC}[c`],
    ["a string for the device", `${ESC}P$qm${ESC}\\`],
    ["reports of the mouse", `${ESC}[?1000h`],
    ["a reset", `${ESC}c`],
    ["C1 controls", "\x9b6n\x90x\x9c".replaceAll(/[^\x80-\x9f]/g, "")],
    ["NUL and DEL", "\x00\x7f"],
  ])("loses %s, also where it is cut", (_what, sequence) => {
    for (const keeps of [true, false]) {
      expect(terminalText(keeps)(`before${sequence}after`)).toBe("beforeafter");
      const piecewise = terminalText(keeps);
      expect([...`before${sequence}after`].map((character) => piecewise(character)).join("")).toBe("beforeafter");
    }
  });

  it("has no sequences as text", () => {
    expect(terminalText(false)(`${ESC}[1mbold${ESC}[0m\r\n\x07`)).toBe("bold\n");
  });

  it.each([
    ["the next sequence", `${ESC}[1m`, `${ESC}[1m`],
    ["CAN", "\x18", ""],
    ["SUB", "\x1a", ""],
  ])("shows what follows a title that %s ends", (_what, end, kept) => {
    expect(terminalText(true)(`${ESC}]0;title${end}after`)).toBe(`${kept}after`);
  });

  it("loses a title of any length, and no text after it", () => {
    const shown = terminalText(true);
    shown(`${ESC}]0;`);
    for (let count = 0; count < 100; count++) expect(shown("x".repeat(100_000))).toBe("");
    expect(shown("\x07after")).toBe("after");
  });

  it("takes a flood of beginnings of sequences", () => {
    const shown = terminalText(true);
    for (let count = 0; count < 50; count++) shown(`${ESC}]`.repeat(30_000));
    expect(shown("\x07after")).toBe("after");
  });
});
