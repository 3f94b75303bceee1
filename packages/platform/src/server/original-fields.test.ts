// Every field of the original interface has a place in the schemas of the kinds that we serve, so that none is dropped or refused.

import { clusterFields } from "@postern/api/cluster";
import { accessKeySchema } from "@postern/api/owned-access-key";
import { createPlatformNames } from "@postern/api/platform-names";
import { projectFields } from "@postern/api/project";
import { selfSchema } from "@postern/api/self";
import { spaceInstanceFields } from "@postern/api/space-instance";
import { teamSchema } from "@postern/api/team";
import { userSchema } from "@postern/api/user";
import { virtualClusterInstanceFields } from "@postern/api/virtual-cluster-instance";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { describe, expect, it } from "vitest";
import original from "./testing/original-fields.json" with { type: "json" };

const names = createPlatformNames({ domain: "loft.sh", name: "loft", projectNamespacePrefix: "p-" });

const SCHEMAS: { readonly [kind: string]: StructuralSchema } = {
  OwnedAccessKey: accessKeySchema(names),
  User: userSchema,
  Team: teamSchema,
  Project: kindSchema(projectFields.schema),
  Cluster: kindSchema(clusterFields.schema),
  VirtualClusterInstance: kindSchema(virtualClusterInstanceFields.schema),
  SpaceInstance: kindSchema(spaceInstanceFields.schema),
  Self: selfSchema("loft"),
};

type Fields = string | readonly Fields[] | { readonly [name: string]: Fields };

const TYPES: { readonly [original: string]: string } = { time: "string", bytes: "string" };

/** Places that a schema has no room for, and those where it wants another JSON type. */
function faultsOf(fields: Fields, schema: StructuralSchema | undefined, path: string): readonly string[] {
  if (schema === undefined) return [`${path}: missing`];
  if (schema["x-kubernetes-preserve-unknown-fields"] === true) return [];
  if (typeof fields === "string") {
    return schema.type === (TYPES[fields] ?? fields) ? [] : [`${path}: ${schema.type} for ${fields}`];
  }
  if (Array.isArray(fields)) return faultsOf(fields[0] ?? "string", schema.items, `${path}[]`);
  return Object.entries(fields).flatMap(([name, below]) => {
    const additional = typeof schema.additionalProperties === "object" ? schema.additionalProperties : undefined;
    return faultsOf(below, name === "*" ? additional : schema.properties?.[name], `${path}.${name}`);
  });
}

describe("the fields of the original interface", () => {
  it.each(Object.keys(SCHEMAS))("are all there in %s", (kind) => {
    const fields: { readonly [kind: string]: Fields } = original.kinds;
    expect(faultsOf(fields[kind] ?? "unknown kind", SCHEMAS[kind], kind)).toEqual([]);
  });
});
