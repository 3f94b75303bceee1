// Owners of kinds that are defined while the server runs, with a real kubectl: inside an embedded cluster, and in the management API.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { KubectlSession } from "./testing/kubectl-clients.ts";
import { startTenantClusters, type TenantClusters } from "./testing/tenant-clusters.ts";

const crd = (plural: string, kind: string, scope: string): object => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.own.example.com` },
  spec: {
    group: "own.example.com",
    names: { plural, kind },
    scope,
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  },
});

let clusters: TenantClusters;
const sessions: { [where: string]: { readonly kubectl: KubectlSession; readonly namespace: string } } = {};
beforeAll(async () => {
  clusters = await startTenantClusters(["--custom-resources"]);
  sessions["an embedded cluster"] = { kubectl: (await clusters.open("demo")).kubectl, namespace: "default" };
  sessions["the management API"] = { kubectl: clusters.admin, namespace: "p-default" };
  for (const { kubectl } of Object.values(sessions)) {
    const definitions = [
      crd("owners", "Owner", "Namespaced"),
      crd("parts", "Part", "Namespaced"),
      crd("sites", "Site", "Cluster"),
    ];
    await kubectl.run("create -f -", JSON.stringify({ apiVersion: "v1", kind: "List", items: definitions }));
    await kubectl.run("wait --for=condition=Established crd --all --timeout=30s");
  }
});
afterAll(() => clusters?.[Symbol.asyncDispose]());

const API_VERSIONS: { [kind: string]: string } = { Secret: "v1" };
const resourceOf = (kind: string): string => (kind === "Secret" ? "secret" : `${kind.toLowerCase()}s.own.example.com`);

async function make(where: string, kind: string, name: string, owner?: any): Promise<any> {
  const { kubectl, namespace } = sessions[where]!;
  const ownerReferences =
    owner === undefined
      ? []
      : [
          {
            apiVersion: owner.apiVersion,
            kind: owner.kind,
            name: owner.metadata.name,
            uid: owner.metadata.uid,
            blockOwnerDeletion: true,
          },
        ];
  const object = {
    apiVersion: API_VERSIONS[kind] ?? "own.example.com/v1",
    kind,
    metadata: { name, ...(kind === "Site" ? {} : { namespace }), ownerReferences },
  };
  return JSON.parse(await kubectl.run("create -o json -f -", JSON.stringify(object)));
}

describe.each(["an embedded cluster", "the management API"])("in %s", (where) => {
  test.each([
    ["Owner", "Secret"],
    ["Secret", "Part"],
    ["Owner", "Part"],
    ["Site", "Owner"],
  ])("%s that owns a %s is deleted in the foreground, in the background and alone", async (owner, dependent) => {
    const { kubectl, namespace } = sessions[where]!;
    for (const cascade of ["foreground", "background", "orphan"]) {
      const name = `${owner}-${dependent}-${cascade}`.toLowerCase();
      await make(where, dependent, `${name}-part`, await make(where, owner, name));
      await kubectl.run(`delete ${resourceOf(owner)} ${name} -n ${namespace} --cascade=${cascade} --timeout=30s`);
      const target = `${resourceOf(dependent)} ${name}-part -n ${namespace}`;
      if (cascade !== "orphan") await kubectl.run(`wait --for=delete ${target} --timeout=30s`);
      else expect((await kubectl.json(`get ${target}`)).metadata.ownerReferences).toBe(undefined);
    }
  });

  test("dependents of the objects of a definition go with it", async () => {
    const { kubectl, namespace } = sessions[where]!;
    await make(where, "Secret", "of-owner", await make(where, "Owner", "last"));
    await kubectl.run("delete crd owners.own.example.com --timeout=30s");
    await kubectl.run(`wait --for=delete secret of-owner -n ${namespace} --timeout=30s`);
  });
});
