import { expect, it } from "vitest";
import { correlateItems } from "../validation/correlate-items.ts";
import { validateStructural } from "./validate-structural.ts";

const names = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => `k${at}`);

function keyed(count: number): any {
  const keys = names(count);
  const properties = Object.fromEntries(keys.map((key) => [key, { type: "string" }]));
  const list = {
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": keys,
    items: { type: "object", required: keys, properties },
  };
  return { type: "object", properties: { list } };
}

const faultsOf = (schema: any): readonly string[] =>
  validateStructural(schema, "schema").map(({ field, message }) => `${field}: ${message}`);

it("a list has at most 32 keys, since each item is looked at for each", () => {
  expect(faultsOf(keyed(32))).toEqual([]);
  expect(faultsOf(keyed(33))).toEqual([
    expect.stringMatching(/^schema\.properties\[list\]\.x-kubernetes-list-map-keys: .*33.*at most 32 items/),
  ]);
});

it("items correspond by their keys in any order, and null is no key", () => {
  const { list } = keyed(3).properties;
  const old = correlateItems(list, [
    { k0: "a", k1: "b", value: 1 },
    { k0: "a", k1: null, value: 2 },
  ]);
  expect(old({ k1: "b", k0: "a", value: 3 })).toEqual({ k0: "a", k1: "b", value: 1 });
  expect(old({ k0: "a" })).toEqual({ k0: "a", k1: null, value: 2 });
  expect(old({ k0: "b", k1: "a" })).toBeUndefined();
  expect(old({})).toBeUndefined();
});
