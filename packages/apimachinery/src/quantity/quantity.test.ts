import { expect, test } from "vitest";
import { canonicalQuantity, parseAmount } from "./quantity.ts";

// Recorded from the Quantity of k8s.io/apimachinery 1.36.
test.each([
  ["0", "0"],
  ["-0", "0"],
  ["1", "1"],
  ["0.5", "500m"],
  ["1000m", "1"],
  ["1500m", "1500m"],
  ["1024Mi", "1Gi"],
  ["1Gi", "1Gi"],
  ["0.5Gi", "512Mi"],
  ["1023", "1023"],
  ["0.5Ki", "512"],
  ["1000", "1k"],
  ["1100", "1100"],
  ["1e3", "1e3"],
  ["1E6", "1e6"],
  ["12e1", "120"],
  ["-2Gi", "-2Gi"],
  ["+5k", "5k"],
  ["1n", "1n"],
])("Go writes %s as %s", (text, canonical) => {
  expect(canonicalQuantity(text)).toBe(canonical);
  expect(parseAmount(canonical)).toBe(parseAmount(text));
});

test.each(["", "x", "1 Gi", "1GiB", ".", "--1", "1e", "1e1234"])("%j is no quantity", (text) => {
  expect(canonicalQuantity(text)).toBeUndefined();
});
