// Refuses a function whose body is that of another one, but for the names in it: what changes in one of them is forgotten in the other.

import { bodiesOf } from "./function-bodies.ts";
import { isTest } from "./imports.ts";
import { readSource, reportGate, typeScriptFiles } from "./source-files.ts";

const files = typeScriptFiles().filter((path) => /^packages\/[^/]+\/src\//.test(path) && !isTest(path));
const bodies = files.flatMap((path) => bodiesOf(path, readSource(path)));
const places = new Map<string, readonly string[]>();
for (const { place, shape } of bodies) places.set(shape, [...(places.get(shape) ?? []), place]);
const faults = [...places.values()]
  .filter((same) => same.length > 1)
  .map((same) => `one function is enough: ${same.join(", ")}`);
reportGate("copies", files.length, faults);
