import fc from "fast-check";
import { expect, it, vi } from "vitest";
import { withRepeatedHeaders } from "./repeated-headers.ts";

const name = fc.oneof(
  fc.constantFrom("Authorization", "authorization", "Host", "Accept", "X-Remote-User", "Impersonate-Group"),
  fc.integer({ max: 40, min: 0 }).map((number) => `Impersonate-Extra-${number}`),
);
const headers = fc.array(fc.tuple(name, fc.constantFrom("", "a", "b, c")), { maxLength: 60 });

it("has a list of all values for each identity header that was sent more than once, among few headers and many", () => {
  fc.assert(
    fc.property(headers, (sent) => {
      const expected: { [name: string]: string | readonly string[] } = { other: "1" };
      for (const name of new Set(sent.map(([each]) => each.toLowerCase()))) {
        const values = sent.filter(([each]) => each.toLowerCase() === name).map(([, value]) => value);
        if (name !== "accept" && values.length > 1) expected[name] = values;
      }
      expect(withRepeatedHeaders({ other: "1" }, sent.flat())).toEqual(expected);
    }),
  );
});

it("compares the names of a few headers alone", () => {
  let comparisons = 0;
  const names = Array.from({ length: 1_000 }, (_, number) => `x-remote-${number}`);
  const includes = vi.spyOn(Array.prototype, "includes").mockImplementation(function (this: unknown[], sought) {
    if (typeof sought === "string") comparisons += this.length;
    return this.indexOf(sought) >= 0;
  });
  try {
    withRepeatedHeaders(
      {},
      names.flatMap((each) => [each, ""]),
    );
  } finally {
    includes.mockRestore();
  }
  expect(comparisons).toBeGreaterThan(0);
  expect(comparisons).toBeLessThan(1_000);
});
