import { expect, test } from "vitest";
import { findNamed } from "./find-named.ts";

const project = (name: string, displayName?: string) => ({
  apiVersion: "v1",
  kind: "Project",
  metadata: { name },
  spec: displayName === undefined ? {} : { displayName },
});

const PROJECTS = [project("shop", "The Shop"), project("shop-test"), project("pay", "Payments")];

test.each([
  ["shop", "shop"],
  [" the shop ", "shop"],
  ["paym", "pay"],
  ["-test", "shop-test"],
  ["sho", undefined],
  ["", undefined],
  ["nothing", undefined],
])("%j means %j", (text, name) => {
  expect(findNamed(PROJECTS, text)?.metadata.name).toBe(name);
});
