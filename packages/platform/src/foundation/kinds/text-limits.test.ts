// Every text field of every kind that the platform serves itself says how long it may be, as clients read it.

import { expect, it } from "vitest";
import { startPlatform } from "../../testing/running-platform.ts";

type Schema = {
  readonly type?: string;
  readonly format?: string;
  readonly enum?: unknown;
  readonly maxLength?: number;
  readonly properties?: { readonly [name: string]: Schema };
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
};

function unlimitedIn(schema: Schema, path: string): readonly string[] {
  if (schema.type === "string") {
    const isFree = schema.enum === undefined && schema.format !== "byte" && schema.maxLength === undefined;
    return isFree ? [path] : [];
  }
  const { properties = {}, items, additionalProperties } = schema;
  return [
    ...Object.entries(properties).flatMap(([name, member]) => unlimitedIn(member, `${path}.${name}`)),
    ...(items === undefined ? [] : unlimitedIn(items, `${path}[]`)),
    ...(typeof additionalProperties === "object" ? unlimitedIn(additionalProperties, `${path}.*`) : []),
  ];
}

it("no text of any field of ours is without a longest length, and one that is longer is refused by its field (security book 50)", async () => {
  await using platform = await startPlatform();
  let kinds = 0;
  for (const group of ["management.postern", "storage.postern"]) {
    const { body } = await platform.send({ path: `/openapi/v3/apis/${group}/v1` });
    for (const [name, schema] of Object.entries<any>(body.components.schemas)) {
      // Of Kubernetes itself, such as metadata.
      if (schema["x-kubernetes-group-version-kind"] === undefined || name.startsWith("io.k8s.")) continue;
      kinds++;
      // These two have one value each.
      const { apiVersion: _, kind: _kind, metadata: _metadata, ...properties } = schema.properties ?? {};
      expect(unlimitedIn({ properties }, name)).toEqual([]);
    }
  }
  expect(kinds).toBeGreaterThan(20);
  for (const [path, field, length] of [
    ["ownedaccesskeys", "description", 300_000],
    ["users", "displayName", 2_500_000],
    ["teams", "description", 300_000],
  ] as const) {
    const { status, body } = await platform.send({
      path,
      body: { metadata: { generateName: "x-" }, spec: { [field]: ".".repeat(length) } },
    });
    expect([status, body.details.causes.map((cause: any) => cause.field)]).toEqual([422, [`spec.${field}`]]);
  }
});
