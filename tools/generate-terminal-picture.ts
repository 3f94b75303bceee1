// Draws docs/images/terminal.svg from a real run of the README's tour. Needs kubectl and script.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { drawTerminal } from "./terminal-picture/draw-terminal.ts";
import { recordTour } from "./terminal-picture/record-tour.ts";

const target = join(import.meta.dirname, "../docs/images/terminal.svg");
const folder = mkdtempSync(join(tmpdir(), "postern-tour-"));
try {
  const text = await recordTour({ folder, node: process.execPath });
  writeFileSync(target, drawTerminal(text, "The tour of the README on a terminal"));
  console.log(`wrote ${target}`);
} finally {
  rmSync(folder, { recursive: true });
}
