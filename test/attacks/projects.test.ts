// An administrator of a project tries to lift the limits that the platform has set for it.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { APPLY, type Attack, type AttackedServer, JSON_PATCH, MERGE, startAttacked } from "./testing/attacking.ts";

let server: AttackedServer;
let owner: string;
let member: string;
let maker: string;
const LIMITS = { allowedClusters: [{ name: "embedded" }], quotas: { project: { pods: "1" } } };

beforeAll(async () => {
  server = await startAttacked();
  [owner, member, maker] = [await server.user("owner"), await server.user("member"), await server.user("maker")];
  const members = [{ kind: "User", name: "member", clusterRole: "postern:project-admin" }];
  const spec = { owner: { user: "owner" }, members, ...LIMITS };
  await server.must({ path: "projects", body: { metadata: { name: "walled" }, spec } });
  await server.grant("makes-projects", "maker", [
    { verbs: ["create"], apiGroups: ["management.postern"], resources: ["projects"] },
  ]);
});
afterAll(() => server[Symbol.asyncDispose]());

const path = "projects/walled";
const CHANGES: readonly [what: string, attack: Omit<Attack, "path">][] = [
  ["every cluster", { method: "PATCH", headers: MERGE, body: { spec: { allowedClusters: [{ name: "*" }] } } }],
  ["no list of clusters", { method: "PATCH", headers: MERGE, body: { spec: { allowedClusters: null } } }],
  [
    "one cluster more",
    {
      method: "PATCH",
      headers: JSON_PATCH,
      body: [{ op: "add", path: "/spec/allowedClusters/-", value: { name: "far" } }],
    },
  ],
  ["higher quotas", { method: "PATCH", headers: MERGE, body: { spec: { quotas: { project: { pods: "9" } } } } }],
  ["no quotas", { method: "PATCH", headers: JSON_PATCH, body: [{ op: "remove", path: "/spec/quotas" }] }],
];

describe("limits of a project", () => {
  for (const [what, attack] of CHANGES) {
    test(`are unchanged when its administrators ask for ${what} (security book 1, 12)`, async () => {
      for (const as of [owner, member]) expect((await server.send({ ...attack, path, as })).status).toBe(403);
      expect((await server.must({ path })).spec).toMatchObject(LIMITS);
      // Those of the platform may; it is put back afterwards.
      expect((await server.send({ ...attack, path })).status).toBe(200);
      await server.must({ method: "PATCH", headers: MERGE, path, body: { spec: { ...LIMITS, quotas: null } } });
      await server.must({ method: "PATCH", headers: MERGE, path, body: { spec: LIMITS } });
    });
  }

  test("stay as they are when it is replaced, or applied (security book 1)", async () => {
    const { spec, ...rest } = await server.must({ path });
    for (const changed of [{ allowedClusters: [{ name: "*" }] }, { quotas: {} }]) {
      const put = { method: "PUT", path, as: owner, body: { ...rest, spec: { ...spec, ...changed } } };
      expect((await server.send(put)).status).toBe(403);
      const body = {
        apiVersion: "management.postern/v1",
        kind: "Project",
        metadata: { name: "walled" },
        spec: { allowedClusters: [{ name: "*" }] },
      };
      const apply = { method: "PATCH", path: `${path}?fieldManager=x&force=true`, headers: APPLY, as: owner, body };
      expect((await server.send(apply)).status).toBe(403);
    }
  });

  test("leave its administrators their permissions", async () => {
    const body = { spec: { displayName: "Walled", description: "x", members: [] } };
    expect((await server.send({ method: "PATCH", headers: MERGE, path, as: owner, body })).status).toBe(200);
  });

  test("are not set with permission to create projects alone (security book 1)", async () => {
    const create = (name: string, spec: object) =>
      server.send({ path: "projects", as: maker, body: { metadata: { name }, spec } });
    expect((await create("wide", { allowedClusters: [{ name: "*" }] })).status).toBe(403);
    expect((await create("plain", {})).status).toBe(201);
  });

  test("are changed with the verbs restrict and update", async () => {
    await server.grant("restricts", "member", [
      { verbs: ["restrict", "get", "patch"], apiGroups: ["management.postern"], resources: ["projects"] },
    ]);
    const [, attack] = CHANGES[0] ?? [];
    expect((await server.send({ ...attack, path, as: member })).status).toBe(200);
  });
});

describe("the key quota of a project", () => {
  const scope = { projects: [{ project: "keyed" }] };
  const statusOf = async (project: string) =>
    (await server.must({ path: `projects/${project}` })).status.quotas?.project;
  const create = (spec: object, as = server.admin) =>
    server.send({ path: "ownedaccesskeys", as, body: { metadata: { generateName: "keyed-" }, spec } });
  let outsider: string;

  beforeAll(async () => {
    outsider = await server.user("outsider");
    const spec = {
      owner: { user: "owner" },
      allowedClusters: [{ name: "embedded" }],
      quotas: { project: { "count/ownedaccesskeys": "3", virtualclusterinstances: "4" } },
    };
    await server.must({ path: "projects", body: { metadata: { name: "keyed" }, spec } });
  });

  test("is not exceeded by keys that come at the same moment, and shows what is used", async () => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, at) =>
        create(at % 2 === 0 ? { user: "owner", scope } : { scope }, at % 2 === 0 ? server.admin : owner),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 201, 201, ...Array(9).fill(403)]);
    const [refused] = answers.filter(({ status }) => status === 403);
    expect(refused?.body.message).toContain(
      'spec.scope: exceeded quota: project "keyed", requested: ownedaccesskeys=1, used: ownedaccesskeys=3, limited: ownedaccesskeys=3 (spec.quotas.project of the project)',
    );
    await expect
      .poll(() => statusOf("keyed"))
      .toEqual({
        limit: { ownedaccesskeys: "3", virtualclusterinstances: "4" },
        used: { ownedaccesskeys: "3", virtualclusterinstances: "0" },
      });
  });

  test("counts every way that leads to a key of the project, and no other", async () => {
    const into = [
      { virtualClusters: [{ project: "keyed", virtualCluster: "*" }] },
      { spaces: [{ project: "keyed", space: "none" }] },
      { projects: [{ project: "default" }, { project: "keyed" }] },
    ];
    for (const each of into) expect((await create({ user: "owner", scope: each })).status).toBe(403);
    const path = "ownedaccesskeys?dryRun=All";
    const dry = { path, body: { metadata: { generateName: "keyed-" }, spec: { user: "owner", scope } } };
    expect((await server.send(dry)).status).toBe(403);
    // A key that is there is not moved in, neither by a change of its scope nor of its owner.
    const [free] = [await create({ user: "owner" }), await create({ user: "owner", scope: { projects: [] } })];
    const move = { method: "PATCH", headers: MERGE, path: `ownedaccesskeys/${free?.body.metadata.name}` };
    expect((await server.send({ ...move, body: { spec: { scope } } })).status).toBe(403);
    expect((await server.send({ ...move, body: { spec: { displayName: "x" } } })).status).toBe(200);
    // Kubeconfigs with tokens have a key of their own.
    await server.must({
      path: "namespaces/p-keyed/virtualclusterinstances",
      body: { metadata: { name: "dev" }, spec: { template: { accessPoint: { ingress: { enabled: true } } } } },
    });
    const kubeconfig = (spec: object) =>
      server.send({
        path: "namespaces/p-keyed/virtualclusterinstances/dev/kubeconfig",
        as: owner,
        body: { spec },
      });
    await expect.poll(async () => (await kubeconfig({ clientCert: true })).status).toBe(201);
    const token = await kubeconfig({});
    expect([token.status, token.body.message]).toEqual([
      403,
      expect.stringContaining('exceeded quota: project "keyed"'),
    ]);
  });

  test("has room again for a key that is deleted or has left", async () => {
    const { items } = await server.must({ path: "ownedaccesskeys" });
    const [first, second] = items.filter(({ spec }: any) => spec.scope?.projects?.[0]?.project === "keyed");
    await server.must({ method: "DELETE", path: `ownedaccesskeys/${first.metadata.name}` });
    await server.must({
      method: "PATCH",
      headers: MERGE,
      path: `ownedaccesskeys/${second.metadata.name}`,
      body: { spec: { scope: { projects: [{ project: "default" }] } } },
    });
    await expect.poll(async () => (await statusOf("keyed"))?.used.ownedaccesskeys).toBe("1");
    const statuses = [];
    for (let at = 0; at < 3; at++) statuses.push((await create({ user: "owner", scope })).status);
    expect(statuses).toEqual([201, 201, 403]);
  });

  test("is neither used up nor revealed by keys of users without permissions in the project (security book 54)", async () => {
    await server.must({
      path: "projects",
      body: {
        metadata: { name: "quiet" },
        spec: { owner: { user: "owner" }, quotas: { project: { ownedaccesskeys: "1" } } },
      },
    });
    const outside = { projects: [{ project: "quiet" }] };
    for (let at = 0; at < 3; at++) expect((await create({ scope: outside }, outsider)).status).toBe(201);
    // Nor by keys for all of it, whatever there is.
    for (const scope of [
      { virtualClusters: [{ project: "quiet", virtualCluster: "*" }] },
      { virtualClusters: [{ project: "quiet", selector: { matchLabels: { env: "dev" } } }] },
      { spaces: [{ project: "quiet", space: "*" }] },
    ])
      expect((await create({ scope }, outsider)).status).toBe(201);
    expect((await create({ scope: outside }, owner)).status).toBe(201);
    // The same answer, whether there is room or not.
    expect((await create({ scope: outside }, outsider)).status).toBe(201);
    expect((await create({ scope: outside }, owner)).status).toBe(403);
    await expect
      .poll(() => statusOf("quiet"))
      .toEqual({
        limit: { ownedaccesskeys: "1" },
        used: { ownedaccesskeys: "1" },
      });
  });

  test("has to be an amount that can be read, in the field that is named", async () => {
    const spec = (amount: string) => ({ quotas: { project: { ownedaccesskeys: amount } } });
    const made = await server.send({ path: "projects", body: { metadata: { name: "vague" }, spec: spec("some") } });
    expect([made.status, made.body.details.causes[0]]).toEqual([
      422,
      {
        reason: "FieldValueInvalid",
        field: "spec.quotas.project[ownedaccesskeys]",
        message: 'Invalid value: "some": must be a whole amount, such as 50 or 64Mi',
      },
    ]);
    const changed = { method: "PATCH", headers: MERGE, path: "projects/keyed", body: { spec: spec("-1") } };
    expect((await server.send(changed)).status).toBe(422);
  });
});

describe("the quota of each user in a project", () => {
  const path = "namespaces/p-shared/virtualclusterinstances";
  const create = (owner: object, as = server.admin) =>
    server.send({ path, as, body: { metadata: { generateName: "c-" }, spec: { owner } } });
  const quotas = async () => (await server.must({ path: "projects/shared" })).status.quotas;

  beforeAll(async () => {
    const members = [{ kind: "User", name: "member", clusterRole: "postern:project-admin" }];
    const user = { "count/virtualclusterinstances": "2", ownedaccesskeys: "1" };
    const spec = { owner: { user: "owner" }, members, quotas: { project: { virtualclusterinstances: "6" }, user } };
    await server.must({ path: "projects", body: { metadata: { name: "shared" }, spec } });
    await server.must({ path: "teams", body: { metadata: { name: "crew" }, spec: {} } });
  });

  test("is not exceeded at the same moment, by a change of the owner, nor for another user (security book 54)", async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => create({ user: "owner" }, owner)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 201, ...Array(6).fill(403)]);
    expect(answers.find(({ status }) => status === 403)?.body.message).toContain(
      'exceeded quota: project "shared", user "owner", requested: virtualclusterinstances=1, used: virtualclusterinstances=2, limited: virtualclusterinstances=2 (spec.quotas.user of the project)',
    );
    const members = await create({ user: "member" }, member);
    expect(members.status).toBe(201);
    const given = { method: "PATCH", headers: MERGE, path: `${path}/${members.body.metadata.name}` };
    expect((await server.send({ ...given, body: { spec: { owner: { user: "owner" } } } })).status).toBe(403);
    expect((await server.send({ ...given, body: { spec: { displayName: "x" } } })).status).toBe(200);
    for (const status of [201, 201, 403]) expect((await create({ team: "crew" })).status).toBe(status);
    // The whole project has room for one more, of any owner.
    expect((await create({ user: "maker" })).status).toBe(201);
    expect((await create({ user: "maker" })).body.message).toContain("(spec.quotas.project of the project)");
  });

  test("counts access keys by their owner, and shows what each uses", async () => {
    const key = (user: string) =>
      server.send({
        path: "ownedaccesskeys",
        body: { metadata: { generateName: "s-" }, spec: { user, scope: { projects: [{ project: "shared" }] } } },
      });
    for (const user of ["owner", "member"])
      expect([(await key(user)).status, (await key(user)).status]).toEqual([201, 403]);
    await expect
      .poll(async () => (await quotas())?.user)
      .toEqual({
        limit: { virtualclusterinstances: "2", ownedaccesskeys: "1" },
        used: {
          users: {
            owner: { virtualclusterinstances: "2", ownedaccesskeys: "1" },
            member: { virtualclusterinstances: "1", ownedaccesskeys: "1" },
            maker: { virtualclusterinstances: "1" },
          },
          teams: { crew: { virtualclusterinstances: "2" } },
        },
      });
    expect((await quotas()).project).toEqual({
      limit: { virtualclusterinstances: "6" },
      used: { virtualclusterinstances: "6" },
    });
  });

  test("has to be an amount that can be read, in the field that is named", async () => {
    const spec = { quotas: { user: { spaceinstances: "many" } } };
    const refused = await server.send({ path: "projects", body: { metadata: { name: "unread" }, spec } });
    expect([refused.status, refused.body.message]).toEqual([
      422,
      expect.stringContaining("spec.quotas.user[spaceinstances]"),
    ]);
  });
});

describe("the finalizers of the server", () => {
  const STRIPS: readonly [what: string, attack: Omit<Attack, "path">][] = [
    ["a merge patch", { method: "PATCH", headers: MERGE, body: { metadata: { finalizers: null } } }],
    ["an empty list", { method: "PATCH", headers: MERGE, body: { metadata: { finalizers: [] } } }],
    ["a JSON patch", { method: "PATCH", headers: JSON_PATCH, body: [{ op: "remove", path: "/metadata/finalizers" }] }],
  ];
  const instances = "namespaces/p-left/virtualclusterinstances";

  test.each(STRIPS)("stay when tenants remove them with %s (security book 11, 13)", async (_, attack) => {
    const members = [{ kind: "User", name: "member", clusterRole: "postern:project-admin" }];
    await server.must({ path: "projects", body: { metadata: { name: "left" }, spec: { members } } });
    expect((await server.send({ path: instances, as: member, body: { metadata: { name: "kept" } } })).status).toBe(201);
    for (const [path, finalizer] of [
      ["projects/left", "postern/project"],
      [`${instances}/kept`, "postern/virtual-cluster"],
    ] as const) {
      await server.send({ ...attack, path, as: member });
      const { metadata } = await server.must({ path });
      expect(metadata.finalizers).toEqual([finalizer]);
      const { finalizers: _f, ...bare } = metadata;
      const { spec, apiVersion, kind } = await server.must({ path });
      await server.send({ method: "PUT", path, as: member, body: { apiVersion, kind, spec, metadata: bare } });
      expect((await server.must({ path })).metadata.finalizers).toEqual([finalizer]);
    }
    // Otherwise the namespace would stay, with all that its tenants may do in it.
    await server.must({ method: "DELETE", path: "projects/left" });
    await expect.poll(async () => (await server.send({ path: "/api/v1/namespaces/p-left" })).status).toBe(404);
    await expect.poll(async () => (await server.send({ path: "projects/left" })).status).toBe(404);
    expect((await server.send({ path: `${instances}/kept`, as: member })).status).toBe(403);
  });
});

test("a required template cannot be avoided by an instance that was external (security book 1)", async () => {
  const former = await server.user("former");
  const members = [{ kind: "User", name: "former", clusterRole: "postern:project-admin" }];
  const spec = { members, requireTemplate: { disabled: false } };
  await server.must({ path: "projects", body: { metadata: { name: "formed" }, spec } });
  const path = "namespaces/p-formed/virtualclusterinstances";
  for (const [name, external, ours] of [
    ["outside", { external: true }, { external: false, clusterRef: { cluster: "embedded" } }],
    ["alone", { standalone: true }, { standalone: false, clusterRef: { cluster: "embedded" } }],
    ["placed", { external: true, clusterRef: { cluster: "embedded" } }, { external: null }],
  ] as const) {
    const body = { metadata: { name }, spec: { ...external, template: { workloads: "stored" } } };
    expect((await server.send({ path, as: former, body })).status).toBe(201);
    const change = { method: "PATCH", headers: MERGE, path: `${path}/${name}`, body: { spec: ours } };
    const refused = await server.send({ ...change, as: former });
    expect([refused.status, refused.body.message]).toEqual([403, expect.stringContaining("requires a template")]);
    expect((await server.send(change)).status).toBe(200);
  }
});
