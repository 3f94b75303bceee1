// Refuses files past 400 lines, tests among them: what grows beyond that holds more than one idea.

import { readSource, reportGate, typeScriptFiles } from "./source-files.ts";

const MAX_LINES = 400;

const files = typeScriptFiles();
const faults = files.flatMap((path) => {
  const lines = readSource(path).split("\n").length - 1;
  return lines > MAX_LINES ? [`${path}: ${lines} lines, at most ${MAX_LINES}`] : [];
});
reportGate("file sizes", files.length, faults);
