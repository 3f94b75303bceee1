import { expect, it } from "vitest";
import { hasMoreValues } from "./has-more-values.ts";

it.each([
  ["[1,1,1,1,1,1]", 3, true],
  ["[1,1,1,1,1,1]", 5, false],
  ['{"a":1,"b":[1,2],"c":{}}', 2, true],
  ['{"a":1,"b":[1,2],"c":{}}', 3, false],
  ['["a,b,c,d,e,\\",f,g,h"]', 1, false],
])("%s has more than %i: %s", (text, max, expected) => expect(hasMoreValues(text, max)).toBe(expected));
