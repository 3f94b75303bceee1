// Warnings about the names in a scope, on the wire.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningPlatform, startPlatform } from "../../../../testing/running-platform.ts";

describe("names in a scope that match nothing", () => {
  let platform: RunningPlatform;
  let janes: string;

  beforeAll(async () => {
    platform = await startPlatform({ "access-key-default-ttl-seconds": "0" });
    await platform.send({ method: "POST", path: "users", body: { metadata: { name: "jane" }, spec: {} } });
    await platform.send({ method: "POST", path: "projects", body: { metadata: { name: "hidden" }, spec: {} } });
    await platform.send({
      method: "PATCH",
      path: "projects/default",
      body: { spec: { members: [{ kind: "User", name: "jane", clusterRole: "postern:project-viewer" }] } },
    });
    const { body } = await platform.send({
      method: "POST",
      path: "ownedaccesskeys",
      body: { metadata: { name: "janes" }, spec: { user: "jane" } },
    });
    janes = body.spec.key;
  });
  afterAll(() => platform[Symbol.asyncDispose]());

  let made = 0;
  const create = (scope: object, key?: string, path = "ownedaccesskeys") =>
    platform.send({ method: "POST", path, key, body: { metadata: { name: `k-${made++}` }, spec: { scope } } });

  it("are returned with the answer, and refuse nothing", async () => {
    const { status, warnings } = await create({
      roles: [{ role: "vcluster", projects: ["default", "nowhere"] }],
      projects: [{ project: "default" }, { project: "gone, or never there" }],
      virtualClusters: [
        { project: "default", virtualCluster: "demo" },
        { project: "default", virtualCluster: "demoo" },
        { project: "nowhere", virtualCluster: "*" },
      ],
      spaces: [{ project: "default", space: "s" }],
      clusters: [{ cluster: "embedded" }, { cluster: "c" }],
    });
    expect(status).toBe(201);
    expect(warnings).toEqual([
      'spec.scope.roles[0].projects[1]: there is no project "nowhere" that you can see',
      'spec.scope.projects[1].project: there is no project "gone, or never there" that you can see',
      'spec.scope.virtualClusters[1].virtualCluster: there is no virtual cluster "demoo" that you can see',
      'spec.scope.virtualClusters[2].project: there is no project "nowhere" that you can see',
      'spec.scope.spaces[0].space: there is no space "s" that you can see',
      'spec.scope.clusters[1].cluster: there is no cluster "c" that you can see',
    ]);
  });

  it("are not the ones that are there, and stars", async () => {
    const { status, warnings } = await create({
      projects: [{ project: "*" }, { project: "hidden" }],
      virtualClusters: [
        { project: "*", virtualCluster: "*" },
        { project: "default", virtualCluster: "*" },
      ],
      clusters: [{ cluster: "*" }],
    });
    expect([status, warnings]).toEqual([201, []]);
  });

  it("are returned with an update, a patch and an apply", async () => {
    const { body } = await create({});
    const path = `ownedaccesskeys/${body.metadata.name}`;
    const spec = { scope: { projects: [{ project: "x" }] } };
    const object = { apiVersion: "management.postern/v1", kind: "OwnedAccessKey", metadata: { name: "applied" }, spec };
    const answers = [
      await platform.send({ method: "PATCH", path, body: { spec } }),
      await platform.send({ method: "PUT", path, body: { ...object, metadata: { name: body.metadata.name } } }),
      await platform.send({
        method: "PATCH",
        path: "ownedaccesskeys/applied?fieldManager=m",
        headers: { "content-type": "application/apply-patch+yaml" },
        body: object,
      }),
      await platform.send({
        method: "PATCH",
        path: `/apis/storage.postern/v1/accesskeys/${body.metadata.name}?dryRun=All`,
        body: { spec: { scope: { clusters: [] } } },
      }),
    ];
    const warning = 'spec.scope.projects[0].project: there is no project "x" that you can see';
    for (const { status, warnings } of answers)
      expect([status < 300, warnings.filter((text) => !text.startsWith("spec.secretRef"))]).toEqual([true, [warning]]);
  });

  it("are the same for invisible and missing objects (security book 42)", async () => {
    const warn = async (scope: (project: string, cluster: string) => object, ...names: [string, string]) =>
      (await create(scope(...names), janes)).warnings.map((text) => text.replaceAll(names[0], "?"));
    const scope = (project: string, cluster: string) => ({
      projects: [{ project: "default" }, { project }],
      virtualClusters: [{ project: "default", virtualCluster: "demo" }],
      clusters: [{ cluster }],
    });
    const [there, absent] = [await warn(scope, "hidden", "embedded"), await warn(scope, "nothere", "embedded")];
    expect(there).toContain('spec.scope.projects[1].project: there is no project "?" that you can see');
    expect(there).toEqual(absent);
  });

  it("are ten at most", async () => {
    const projects = Array.from({ length: 1_000 }, (_, at) => ({ project: `p${at}` }));
    expect((await create({ projects })).warnings).toHaveLength(10);
  });

  it("and places of the value where others read it who may do less", async () => {
    const warned = async (namespace: string, scope?: object) => {
      const spec = { scope, secretRef: { namespace, name: `s-${made}` } };
      const body = { metadata: { name: `k-${made++}` }, spec };
      const { status, warnings } = await platform.send({ method: "POST", path: "ownedaccesskeys", body });
      expect(status).toBe(201);
      return warnings.filter((text: string) =>
        text.startsWith("spec.secretRef.namespace: administrators of the project"),
      );
    };
    const inProject = { project: "default", virtualCluster: "demo" };
    expect(await warned("p-default")).toHaveLength(1);
    for (const scope of [
      { virtualClusters: [inProject, { project: "hidden", virtualCluster: "*" }] },
      { projects: [{ project: "*" }] },
      { projects: [{ project: "default" }], clusters: [{ cluster: "embedded" }] },
      { roles: [{ role: "platform-cli" }] },
    ]) {
      expect(await warned("p-default", scope)).toHaveLength(1);
    }
    expect(await warned("p-default", { virtualClusters: [inProject], projects: [{ project: "default" }] })).toEqual([]);
    expect(await warned("p-default", {})).toEqual([]);
    expect(await warned("default")).toEqual([]);
  });
});
