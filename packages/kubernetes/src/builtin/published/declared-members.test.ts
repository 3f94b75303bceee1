// Schemas of built-in kinds declare what the messages of their types have: a member that is missing would be dropped, and one that is free not be checked.

import { heldMessages, messageMembers, messageNameOf } from "@postern/apimachinery/protobuf/kubernetes-messages";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { expect, test } from "vitest";
import { useClusterSurface } from "../../testing/use-cluster-surface.ts";

const cluster = useClusterSurface();

/** Of metadata, definitions, and requests that are answered and not kept. */
const ELSEWHERE = /^meta\.v1\.|^apiextensions\.|^authentication\.|^authorization\./;
function partOf(schema: StructuralSchema): StructuralSchema {
  const { items, additionalProperties } = schema;
  if (items !== undefined) return partOf(items);
  return typeof additionalProperties === "object" ? partOf(additionalProperties) : schema;
}

function* gaps(schema: StructuralSchema, message: string, seen: Set<string>): Generator<string> {
  if (ELSEWHERE.test(message) || seen.has(message)) return;
  seen.add(message);
  const { properties = {} } = schema;
  for (const member of messageMembers(message)) {
    const property = properties[member];
    const held = heldMessages(message).get(member);
    if (property === undefined) yield `${message}.${member}: missing`;
    else if (held === undefined || ELSEWHERE.test(held)) continue;
    else if (partOf(property).properties === undefined) yield `${message}.${member}: free`;
    else yield* gaps(partOf(property), held, seen);
  }
}

test("every member of a type is declared", () => {
  const seen = new Set<string>();
  const found = cluster.definitions.flatMap(({ group, version, kind, schema }) => {
    const message = messageNameOf(group === "" ? version : `${group}/${version}`, kind);
    return message === undefined ? [] : [...gaps(schema, message, seen)];
  });
  expect(seen.size).toBeGreaterThan(250);
  expect(found).toEqual([]);
});
