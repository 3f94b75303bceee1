// All fields of the management API that name a Secret or another object with power. A new one has to be listed, with the check of its writers (ADR 162).

import { afterAll, beforeAll, expect, it } from "vitest";
import { type RunningPlatform, startPlatform } from "../testing/running-platform.ts";

const NO_EFFECT = "stored, but has no effect";
const PLACEMENT = "clusters that the project allows: resources/placement.ts, server/proxy-route.ts";
const TEMPLATE = "templates are readable, and act inside only: resources/virtual-cluster-instances/strategy.ts";
/** The file that checks writers, or why none has to. */
const REFERENCES: { readonly [field: string]: string } = {
  "Cluster.spec.config": NO_EFFECT,
  "Cluster.spec.kubeConfigRef":
    "get on the Secret, and update in a project: resources/clusters/index.ts; the same Secret at use: kubernetes-backend/recorded-secret.ts",
  "IdentityProvider.spec.clientSecretRef": "get on the Secret: resources/identity-providers/index.ts",
  "OwnedAccessKey.spec.secretRef": "create and update on the Secret: resources/owned-access-keys/secret-delivery.ts",
  "SpaceInstance.spec.clusterRef": PLACEMENT,
  "SpaceInstance.spec.templateRef": NO_EFFECT,
  "Team.spec.imagePullSecrets": NO_EFFECT,
  "User.spec.codesRef": NO_EFFECT,
  "User.spec.imagePullSecrets": NO_EFFECT,
  "User.spec.passwordRef": NO_EFFECT,
  "VirtualClusterInstance.spec.clusterRef": PLACEMENT,
  "VirtualClusterInstance.spec.templateRef": TEMPLATE,
  "VirtualClusterInstanceKubeConfig.status.kubeConfig": "a response, and not stored",
  "VirtualClusterTemplate.spec.spaceTemplateRef": NO_EFFECT,
};

let platform: RunningPlatform;
beforeAll(async () => {
  platform = await startPlatform();
});
afterAll(() => platform?.[Symbol.asyncDispose]());

const LOOKS_LIKE_A_REFERENCE = /Refs?$|[sS]ecret(s|Name|Namespace)?$|^kubeConfig$|^config$/;

function fieldsOf(schema: any, schemas: any, path: string, depth = 0): readonly string[] {
  if (depth > 12 || schema === undefined) return [];
  const reference = schema.$ref ?? schema.allOf?.[0]?.$ref;
  if (reference !== undefined) return fieldsOf(schemas[reference.split("/").at(-1)], schemas, path, depth + 1);
  if (schema.items !== undefined) return fieldsOf(schema.items, schemas, path, depth + 1);
  return Object.entries<any>(schema.properties ?? {}).flatMap(([name, field]) => {
    const own = `${path}.${name}`;
    return LOOKS_LIKE_A_REFERENCE.test(name) ? [own] : fieldsOf(field, schemas, own, depth + 1);
  });
}

it("every field that looks like a reference is listed", async () => {
  const { body } = await platform.send({ path: "/openapi/v3/apis/management.postern/v1" });
  const { schemas } = body.components;
  const found = Object.entries<any>(schemas).flatMap(([, schema]) => {
    const [gvk] = schema["x-kubernetes-group-version-kind"] ?? [];
    if (gvk?.group !== "management.postern" || /List$|Options$/.test(gvk.kind)) return [];
    return ["spec", "status"].flatMap((part) => fieldsOf(schema.properties?.[part], schemas, `${gvk.kind}.${part}`));
  });
  expect([...new Set(found)].toSorted()).toEqual(Object.keys(REFERENCES).toSorted());
});
