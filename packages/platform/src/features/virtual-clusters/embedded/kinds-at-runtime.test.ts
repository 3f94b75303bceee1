// Everything that follows the set of kinds, in a cluster that runs before the definitions come.

import { describe, expect, it } from "vitest";
import { createEmbeddedHost, type EmbeddedHost } from "./testing/embedded-host.ts";

const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

const crd = (plural: string, kind: string, spec: object = {}): any => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.example.com` },
  spec: {
    group: "example.com",
    names: { plural, kind },
    scope: "Namespaced",
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
    ...spec,
  },
});

/** A running cluster, and short words for what is done in it. */
async function running() {
  const host: EmbeddedHost = await createEmbeddedHost();
  await host.setUp("one");
  const urlOf: { [kind: string]: string } = {
    ConfigMap: "/api/v1/namespaces/default/configmaps",
    Widget: "/apis/example.com/v1/namespaces/default/widgets",
    Part: "/apis/example.com/v1/namespaces/default/parts",
    Site: "/apis/example.com/v1/sites",
    ClusterRole: "/apis/rbac.authorization.k8s.io/v1/clusterroles",
  };
  const must = async (method: string, url: string, body?: object) => {
    const answer = await host.request("one", { method, url, ...(body === undefined ? {} : { body }) } as never);
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
    return answer.body;
  };
  const define = async (...definitions: readonly object[]) => {
    for (const definition of definitions) await must("POST", CRDS, definition);
    await host.settled("one");
  };
  const create = (kind: string, name: string, owners: readonly any[] = [], metadata: object = {}) =>
    must("POST", urlOf[kind]!, {
      apiVersion:
        kind === "ConfigMap" ? "v1" : kind === "ClusterRole" ? "rbac.authorization.k8s.io/v1" : "example.com/v1",
      kind,
      metadata: {
        name,
        ownerReferences: owners.map((owner) => ({
          apiVersion: owner.apiVersion,
          kind: owner.kind,
          name: owner.metadata.name,
          uid: owner.metadata.uid,
          blockOwnerDeletion: true,
        })),
        ...metadata,
      },
    });
  const remove = async (kind: string, name: string, propagationPolicy: string) => {
    await must("DELETE", `${urlOf[kind]}/${name}`, { propagationPolicy });
    await host.settled("one");
  };
  const names = async (kind: string): Promise<string[]> =>
    (await must("GET", urlOf[kind]!)).items
      .map(({ metadata }: any) => metadata.name)
      .filter((name: string) => name !== "kube-root-ca.crt");
  return { host, must, define, create, remove, names, [Symbol.asyncDispose]: () => host[Symbol.asyncDispose]() };
}

const POLICIES = ["Foreground", "Background", "Orphan"] as const;
const PAIRS = [
  ["Widget", "ConfigMap"],
  ["ConfigMap", "Widget"],
  ["Widget", "Part"],
  ["Site", "Widget"],
  ["Site", "ConfigMap"],
] as const;

describe("kinds that are defined while their cluster runs", () => {
  it.each(PAIRS.flatMap(([owner, dependent]) => POLICIES.map((policy) => [owner, dependent, policy] as const)))(
    "%s that owns a %s is deleted with %s propagation",
    async (owner, dependent, policy) => {
      await using cluster = await running();
      const { define, create, remove, names } = cluster;
      await define(crd("widgets", "Widget"), crd("parts", "Part"), crd("sites", "Site", { scope: "Cluster" }));
      const a = await create(owner, "owner");
      await create(dependent, "dependent", [a]);
      await remove(owner, "owner", policy);
      expect(await names(owner)).toEqual([]);
      expect(await names(dependent)).toEqual(policy === "Orphan" ? ["dependent"] : []);
    },
  );

  it("a chain over three kinds goes from its end in the foreground, as its finalizers allow", async () => {
    await using cluster = await running();
    const { host, must, define, create, remove, names } = cluster;
    await define(crd("widgets", "Widget"), crd("parts", "Part"));
    const a = await create("Widget", "a");
    const b = await create("Part", "b", [a]);
    await create("ConfigMap", "c", [b], { finalizers: ["example.com/held"] });
    await remove("Widget", "a", "Foreground");
    expect([await names("Widget"), await names("Part"), await names("ConfigMap")]).toEqual([["a"], ["b"], ["c"]]);
    const url = "/api/v1/namespaces/default/configmaps/c";
    const c = await must("GET", url);
    await must("PUT", url, { ...c, metadata: { ...c.metadata, finalizers: [] } });
    await host.settled("one");
    expect([await names("Widget"), await names("Part"), await names("ConfigMap")]).toEqual([[], [], []]);
  });

  it("dependents of an owner whose kind comes later are looked at when it comes", async () => {
    await using cluster = await running();
    const { host, define, create, names } = cluster;
    const ownerReferences = [{ apiVersion: "example.com/v1", kind: "Widget", name: "w", uid: "u" }];
    await create("ConfigMap", "c", [], { ownerReferences });
    await host.settled("one");
    expect(await names("ConfigMap")).toEqual(["c"]);
    await define(crd("widgets", "Widget"));
    expect(await names("ConfigMap")).toEqual([]);
  });

  it.each(["Background", "Foreground"])(
    "dependents of the objects of a definition go with it (%s)",
    async (propagationPolicy) => {
      await using cluster = await running();
      const { host, must, define, create, names } = cluster;
      await define(crd("widgets", "Widget"));
      for (const name of ["a", "b", "c"]) await create("ConfigMap", `of-${name}`, [await create("Widget", name)]);
      await must("DELETE", `${CRDS}/widgets.example.com`, { propagationPolicy });
      await host.settled("one");
      expect(await names("ConfigMap")).toEqual([]);
      expect((await must("GET", CRDS)).items).toEqual([]);
      // Defined again, it is followed again.
      await define(crd("widgets", "Widget"));
      await create("ConfigMap", "d", [await create("Widget", "d")]);
      await cluster.remove("Widget", "d", "Foreground");
      expect([await names("Widget"), await names("ConfigMap")]).toEqual([[], []]);
    },
  );

  it("a definition that is owned itself goes with its owner, and its objects with it", async () => {
    await using cluster = await running();
    const { define, create, remove, names } = cluster;
    const owner = await create("ClusterRole", "operator");
    const owned = crd("widgets", "Widget");
    owned.metadata.ownerReferences = [
      { apiVersion: owner.apiVersion, kind: owner.kind, name: "operator", uid: owner.metadata.uid },
    ];
    await define(owned);
    await create("ConfigMap", "c", [await create("Widget", "w")]);
    await remove("ClusterRole", "operator", "Background");
    expect(await names("ConfigMap")).toEqual([]);
    expect((await cluster.must("GET", CRDS)).items).toEqual([]);
  });

  it("owners are followed through a change of their definition, and after the cluster slept", async () => {
    await using cluster = await running();
    const { host, must, define, create, remove, names } = cluster;
    await define(crd("widgets", "Widget"));
    const a = await create("Widget", "a");
    await create("ConfigMap", "of-a", [a]);
    const definition = await must("GET", `${CRDS}/widgets.example.com`);
    definition.spec.versions.push({ ...definition.spec.versions[0], name: "v2", storage: true });
    definition.spec.versions[0].storage = false;
    definition.spec.versions[0].schema.openAPIV3Schema = {
      type: "object",
      properties: { spec: { type: "object", properties: { size: { type: "integer", default: 1 } } } },
    };
    await must("PUT", `${CRDS}/widgets.example.com`, definition);
    await host.settled("one");
    await create("ConfigMap", "of-b", [await create("Widget", "b")]);
    await remove("Widget", "a", "Foreground");
    expect(await names("ConfigMap")).toEqual(["of-b"]);
    await host.clusters.stop("one");
    await remove("Widget", "b", "Foreground");
    expect([await names("Widget"), await names("ConfigMap")]).toEqual([[], []]);
  });

  it("a namespace goes with its custom objects", async () => {
    await using cluster = await running();
    const { host, must, define } = cluster;
    await must("POST", "/api/v1/namespaces", { metadata: { name: "shop" } });
    await define(crd("widgets", "Widget"));
    const url = "/apis/example.com/v1/namespaces/shop/widgets";
    await must("POST", url, { apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "w" } });
    await must("DELETE", "/api/v1/namespaces/shop");
    await host.settled("one");
    const { items } = await must("GET", "/apis/example.com/v1/widgets");
    expect(items).toEqual([]);
    expect((await must("GET", "/api/v1/namespaces")).items.map(({ metadata }: any) => metadata.name)).not.toContain(
      "shop",
    );
  });

  it("a quota counts a kind that comes after it, and no longer one that has gone", async () => {
    await using cluster = await running();
    const { host, must, define, create, remove } = cluster;
    const url = "/api/v1/namespaces/default/resourcequotas";
    await must("POST", url, {
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "q" },
      spec: { hard: { "count/widgets.example.com": "2" } },
    });
    const used = async () => {
      await host.settled("one");
      return (await must("GET", `${url}/q`)).status.used["count/widgets.example.com"];
    };
    expect(await used()).toBe("0");
    await define(crd("widgets", "Widget"));
    await create("Widget", "a");
    await create("Widget", "b");
    expect(await used()).toBe("2");
    await expect(create("Widget", "c")).rejects.toMatchObject({ code: 403 });
    await remove("Widget", "a", "Background");
    expect(await used()).toBe("1");
    await must("DELETE", `${CRDS}/widgets.example.com`);
    expect(await used()).toBe("0");
    await define(crd("widgets", "Widget"));
    await create("Widget", "a");
    expect(await used()).toBe("1");
  });

  it("roles for a new kind reach the role that aggregates them", async () => {
    await using cluster = await running();
    const { host, must, define } = cluster;
    await define(crd("widgets", "Widget"));
    const rule = { apiGroups: ["example.com"], resources: ["widgets"], verbs: ["get"] };
    await must("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "widgets-view", labels: { "rbac.authorization.k8s.io/aggregate-to-view": "true" } },
      rules: [rule],
    });
    await host.settled("one");
    for (const role of ["view", "edit", "admin"]) {
      const { rules } = await must("GET", `/apis/rbac.authorization.k8s.io/v1/clusterroles/${role}`);
      expect(rules).toContainEqual(rule);
    }
  });

  it("a webhook and a policy that match every group see a kind that comes after them", async () => {
    await using cluster = await running();
    const { host, must, define } = cluster;
    const base = "/apis/admissionregistration.k8s.io/v1";
    const everything = { apiGroups: ["*"], apiVersions: ["*"], operations: ["CREATE"], resources: ["widgets"] };
    await must("POST", `${base}/validatingadmissionpolicies`, {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata: { name: "p" },
      spec: {
        failurePolicy: "Fail",
        matchConstraints: { resourceRules: [everything] },
        validations: [{ expression: "object.metadata.name != 'bad'", message: "bad name" }],
      },
    });
    await must("POST", `${base}/validatingadmissionpolicybindings`, {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name: "p" },
      spec: { policyName: "p", validationActions: ["Deny"] },
    });
    await host.settled("one");
    await define(crd("widgets", "Widget"));
    const create = (name: string) =>
      host.request("one", {
        method: "POST",
        url: "/apis/example.com/v1/namespaces/default/widgets",
        body: { apiVersion: "example.com/v1", kind: "Widget", metadata: { name } },
      });
    await expect(create("bad")).rejects.toMatchObject({ message: expect.stringContaining("bad name") });
    expect((await create("good")).status).toBe(201);
  });
});
