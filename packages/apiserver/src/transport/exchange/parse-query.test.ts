import fc from "fast-check";
import { expect, it } from "vitest";
import { parseQuery } from "./parse-query.ts";

const SEED = Number(process.env["TEST_SEED"]);
const LONG = "x".repeat(2_048);

/** Parts of a query, which come together by chance in every way. */
const piece = fc.oneof(
  fc.constantFrom(
    "&",
    "=",
    "+",
    "%",
    "%2B",
    "%26",
    "%3D",
    "%20",
    "%00",
    "%zz",
    "%e2%82%ac",
    "%e2%82",
    "%ff",
    "%EF%BB%BF",
    "%25",
    ";",
    "?",
    "#",
    "é",
    "a",
  ),
  fc.string({ maxLength: 3, unit: "binary-ascii" }),
);

it(`reads long queries as URLSearchParams does (seed ${SEED})`, () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), fc.boolean(), (pieces, isFirst) => {
      const text = pieces.join("");
      const query = isFirst ? `${LONG}=1&${text}` : `${text}&labelSelector=${LONG}`;
      expect([...parseQuery(query)]).toEqual([...new URLSearchParams(query)]);
    }),
    { numRuns: 2_000 },
  );
});

it("keeps parameters that are there twice, empty, or without a value", () => {
  expect([...parseQuery(`a=${LONG}&b=1&b=2&&c&=d&e=`)]).toEqual([
    ["a", LONG],
    ["b", "1"],
    ["b", "2"],
    ["c", ""],
    ["", "d"],
    ["e", ""],
  ]);
});
