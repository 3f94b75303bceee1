// The picture of the terminal in the README shows what a run of today shows, and the link on the terminal opens the console.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { drawTerminal } from "../../tools/terminal-picture/draw-terminal.ts";
import { recordTour, TOUR } from "../../tools/terminal-picture/record-tour.ts";
import { NODE, REPOSITORY, temporaryDirectory } from "../e2e/testing/postern-process.ts";

const read = (path: string): string => readFileSync(join(REPOSITORY, path), "utf8");

it("shows the tour of the README", () => {
  const [, block = ""] = /^## The tour in three lines$.*?^```sh\n(.*?)^```$/ms.exec(read("README.md")) ?? [];
  expect(block.trim().split("\n")).toEqual(TOUR);
});

it("is what the terminal shows", async ({ skip }) => {
  for (const program of ["script", "kubectl"])
    if (spawnSync(program, ["--help"]).status !== 0) return skip(`${program} is not installed here`);
  await using directory = await temporaryDirectory();
  const text = await recordTour({ folder: directory.path, node: NODE });
  expect(text).toContain("/login/link?code=…");
  // `npm run generate -- terminal` draws it again.
  expect(read("docs/images/terminal.svg")).toBe(drawTerminal(text, "The tour of the README on a terminal"));
});
