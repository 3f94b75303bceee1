// Refuses source files over 400 lines: they contain more than one idea. Tests may be longer, because they have many cases.

import { isTest } from "./imports.ts";
import { readSource, reportGate, typeScriptFiles } from "./source-files.ts";

const MAX_LINES = 400;

const files = typeScriptFiles().filter((path) => !isTest(path) && !path.startsWith("test/"));
const faults = files.flatMap((path) => {
  const lines = readSource(path).split("\n").length - 1;
  return lines > MAX_LINES ? [`${path}: ${lines} lines, at most ${MAX_LINES}`] : [];
});
reportGate("file sizes", files.length, faults);
