// All fields of the management API that name a Secret or another object with power. A new one has to be listed, with the check of its writers (ADR 162).

import { afterAll, beforeAll, expect, it } from "vitest";
import { type RunningPlatform, startPlatform } from "../testing/running-platform.ts";

const NO_EFFECT = "stored, but has no effect";
const PLACEMENT = "clusters that the project allows: virtual-clusters/kinds/placement.ts, proxy/routes/proxy-route.ts";
const TEMPLATE =
  "templates are readable, and act inside only: virtual-clusters/kinds/virtual-cluster-instances/strategy.ts";
/** The file that checks writers, or why none has to. */
const REFERENCES: { readonly [field: string]: string } = {
  "AccessKey.spec.secretRef": "that of OwnedAccessKey: both kinds show the same objects",
  "CertificateAuthority.status.outdated.tokenSecrets": "a count in a response",
  "Cluster.spec.config": NO_EFFECT,
  "Cluster.spec.kubeConfigRef":
    "get on the Secret, and update in a project: virtual-clusters/kinds/clusters/index.ts; the same Secret at use: virtual-clusters/kubernetes-backend/recorded-secret.ts; its writers: virtual-clusters/kinds/clusters/secret-writers.ts",
  "IdentityProvider.spec.clientSecretRef": "get on the Secret: sign-in/kinds/identity-providers/index.ts",
  "KubeconfigGenerator.spec.format": "how Secrets are written; its description names them",
  "KubeconfigGenerator.spec.secretRef":
    "create and update on Secrets, of the creator at each write: kubeconfig-generators/kinds/kubeconfig-generators/strategy.ts; a Secret of others is left alone",
  "KubeconfigGenerator.status.clusters.secret": "a name in a response",
  "OwnedAccessKey.spec.secretRef":
    "create and update on the Secret: access-keys/kinds/owned-access-keys/secret-delivery.ts",
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

/** By its name, or by what its description says. */
const NAMES_A_REFERENCE = /Refs?$|[sS]ecret(s|Name|Namespace)?$|^kubeConfig$|^config$/;
const SAYS_A_REFERENCE = /\b(?:reference to|name of the secret|secret (?:that|with)|object with)\b/i;

function fieldsOf(schema: any, schemas: any, path: string, depth = 0): readonly string[] {
  if (depth > 12 || schema === undefined) return [];
  const reference = schema.$ref ?? schema.allOf?.[0]?.$ref;
  if (reference !== undefined) return fieldsOf(schemas[reference.split("/").at(-1)], schemas, path, depth + 1);
  for (const inner of [schema.items, schema.additionalProperties])
    if (typeof inner === "object") return fieldsOf(inner, schemas, path, depth + 1);
  return Object.entries<any>(schema.properties ?? {}).flatMap(([name, field]) => {
    const own = `${path}.${name}`;
    const isReference = NAMES_A_REFERENCE.test(name) || SAYS_A_REFERENCE.test(field.description ?? "");
    return isReference ? [own] : fieldsOf(field, schemas, own, depth + 1);
  });
}

it("every field that looks like a reference is listed, of all groups of the platform", async () => {
  const { body: groups } = await platform.send({ path: "/apis" });
  const own = groups.groups.map(({ name }: { name: string }) => name).filter((name: string) => /postern$/.test(name));
  expect(own).toEqual(expect.arrayContaining(["management.postern", "storage.postern"]));
  const found: string[] = [];
  for (const group of own) {
    const { body } = await platform.send({ path: `/openapi/v3/apis/${group}/v1` });
    const { schemas } = body.components;
    for (const schema of Object.values<any>(schemas)) {
      const gvk = schema["x-kubernetes-group-version-kind"]?.find((one: any) => one.group === group);
      if (gvk === undefined || /List$|Options$/.test(gvk.kind)) continue;
      for (const part of ["spec", "status"])
        found.push(...fieldsOf(schema.properties?.[part], schemas, `${gvk.kind}.${part}`));
    }
  }
  expect([...new Set(found)].toSorted()).toEqual(Object.keys(REFERENCES).toSorted());
});
