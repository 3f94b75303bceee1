// Refuses files that import each other in a circle, types included: they could only be read, tested and moved together.

import { importsOf, isTest, targetOf } from "./imports.ts";
import { readSource, reportGate, typeScriptFiles } from "./source-files.ts";

const files = typeScriptFiles().filter((path) => path.startsWith("packages/") && !isTest(path));
const known = new Set(files);
const imports = new Map(
  files.map((path) => [
    path,
    importsOf(readSource(path))
      .filter((imported) => imported.startsWith("."))
      .map((imported) => targetOf(path, imported))
      .filter((target) => known.has(target)),
  ]),
);

const faults = circles().map((circle) => `a circle of imports: ${circle.sort().join(", ")}`);
reportGate("circles", files.length, faults);

/** Tarjan's strongly connected components with more than one file. */
function circles(): string[][] {
  const found: string[][] = [];
  const numbers = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const visit = (path: string): number => {
    const number = numbers.size;
    numbers.set(path, number);
    lowest.set(path, number);
    open.push(path);
    for (const target of imports.get(path) ?? []) {
      const reached = numbers.has(target) ? (open.includes(target) ? numbers.get(target) : undefined) : visit(target);
      lowest.set(path, Math.min(lowest.get(path) ?? number, reached ?? number));
    }
    if (lowest.get(path) === number) {
      const circle = open.splice(open.indexOf(path));
      if (circle.length > 1) found.push(circle);
    }
    return lowest.get(path) ?? number;
  };
  for (const path of files) if (!numbers.has(path)) visit(path);
  return found;
}
