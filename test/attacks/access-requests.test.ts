// A user tries to get access without an approval, to keep it, or to approve it alone.

import { readFile } from "node:fs/promises";
import { request as httpsRequest } from "node:https";
import { CREDENTIAL_KINDS } from "@postern/platform/features/authorization/credential-kinds";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Answered, type AttackedServer, MERGE, startAttacked } from "./testing/attacking.ts";

let server: AttackedServer;
/** Access keys by user. */
const keys: { [user: string]: string } = {};
const key = (user: string): string => {
  const found = keys[user];
  if (found === undefined) throw new Error(`there is no user ${user}`);
  return found;
};

const INSIDE = "/kubernetes/project/shop/virtualcluster/prod/api/v1/namespaces";
const OTHER = "/kubernetes/project/shop/virtualcluster/dev/api/v1/namespaces";
const TARGET = { project: "shop", virtualCluster: "prod" };

beforeAll(async () => {
  server = await startAttacked();
  for (const name of ["ann", "bob", "carl", "dora", "eve"])
    keys[name] = await server.user(name, { email: `${name}@x.test` });
  await server.must({ path: "teams", body: { metadata: { name: "leads" }, spec: { users: ["carl", "dora"] } } });
  await server.must({
    path: "projects",
    body: { metadata: { name: "shop" }, spec: { allowedClusters: [{ name: "embedded" }] } },
  });
  for (const [name, env] of [
    ["prod", "prod"],
    ["dev", "dev"],
  ] as const)
    await server.must({
      path: "namespaces/p-shop/virtualclusterinstances",
      body: { metadata: { name, labels: { env } }, spec: { owner: { user: "admin" } } },
    });
  await policy("edit-prod", {
    targets: [
      {
        kind: "VirtualCluster",
        projects: ["shop"],
        selector: { matchLabels: { env: "prod" } },
        roles: ["edit", "view"],
      },
    ],
  });
});
afterAll(() => server[Symbol.asyncDispose]());

async function policy(name: string, spec: object): Promise<void> {
  await server.must({
    path: "clusteraccesspolicies",
    body: {
      metadata: { name },
      spec: {
        requesters: { users: ["ann", "bob"] },
        approvers: { teams: ["leads"] },
        maxDurationSeconds: 3600,
        targets: [{ kind: "Project", projects: ["shop"], roles: ["postern:project-user"] }],
        ...spec,
      },
    },
  });
}

const ask = (user: string, spec: object = {}): Promise<Answered> =>
  server.send({
    path: "accessrequests",
    as: key(user),
    body: {
      metadata: {},
      spec: { policy: { name: "edit-prod" }, target: TARGET, role: "edit", durationSeconds: 600, ...spec },
    },
  });
async function asked(user: string, spec: object = {}): Promise<string> {
  const answer = await ask(user, spec);
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.body.metadata.name;
}
const decide = (user: string, name: string, decision: string): Promise<Answered> =>
  server.send({ path: `accessrequests/${name}/approval`, as: key(user), body: { spec: { decision } } });
const phaseOf = async (name: string): Promise<string> =>
  (await server.must({ path: `accessrequests/${name}` })).status.phase;
const statusOf = async (as: string, path: string): Promise<number> => (await server.send({ path, as })).status;
/** Ends what an earlier test left open. */
async function withdrawn(user: string, name: string): Promise<void> {
  expect((await decide(user, name, "Withdraw")).status).toBe(201);
}

describe("access on request", () => {
  test("is granted by an approval, in one place with one role, and ends when it is revoked", async () => {
    const before = await server.send({ path: INSIDE, as: key("ann") });
    expect(before.status).toBe(403);
    expect(before.body.message).toContain(
      "you may ask for access: postern access request --policy edit-prod --virtual-cluster shop/prod --role edit",
    );
    const name = await asked("ann");
    expect(await statusOf(key("ann"), INSIDE)).toBe(403);
    const approved = await decide("carl", name, "Approve");
    expect(approved.body).toMatchObject({ status: { phase: "Approved", approvals: 1 } });
    // At once, and nowhere else.
    expect(await statusOf(key("ann"), INSIDE)).toBe(200);
    expect(await statusOf(key("ann"), OTHER)).toBe(403);
    expect(await statusOf(key("bob"), INSIDE)).toBe(403);
    // The role is edit: it reads Secrets, and gives no roles.
    expect(
      await statusOf(key("ann"), "/kubernetes/project/shop/virtualcluster/prod/api/v1/namespaces/default/secrets"),
    ).toBe(200);
    const binding = await server.send({
      path: "/kubernetes/project/shop/virtualcluster/prod/apis/rbac.authorization.k8s.io/v1/clusterroles",
      as: key("ann"),
      body: { metadata: { name: "mine" }, rules: [] },
    });
    expect(binding.status).toBe(403);
    expect((await decide("dora", name, "Revoke")).status).toBe(201);
    expect(await statusOf(key("ann"), INSIDE)).toBe(403);
    expect(await phaseOf(name)).toBe("Revoked");
  });

  test("ends to the second by itself", async () => {
    await policy("short", {
      maxDurationSeconds: 60,
      autoApprove: "request.reason == 'now'",
      targets: [{ kind: "Project", projects: ["shop"], roles: ["postern:project-viewer"] }],
    });
    const answer = await ask("ann", {
      policy: { name: "short" },
      target: { project: "shop" },
      role: "postern:project-viewer",
      durationSeconds: 60,
      reason: "now",
    });
    expect(answer.body.status).toMatchObject({ phase: "Approved", approvalMode: "Automatic" });
    const until = Date.parse(answer.body.status.expirationTimestamp);
    expect(until - Date.parse(answer.body.status.approvedTimestamp)).toBe(60_000);
    expect(await statusOf(key("ann"), "projects/shop")).toBe(200);
    await withdrawn("ann", answer.body.metadata.name);
    expect(await statusOf(key("ann"), "projects/shop")).toBe(403);
  });

  test("shows and opens a connected cluster, and no other", async () => {
    await server.must({ path: "clusters", body: { metadata: { name: "other" }, spec: { local: true } } });
    await policy("host", { targets: [{ kind: "Cluster", names: ["embedded"] }] });
    const spec = { policy: { name: "host" }, target: { cluster: "embedded" } };
    const visible = async (): Promise<readonly string[]> =>
      (await server.must({ path: "clusters", as: key("ann") })).items.map(({ metadata }: any) => metadata.name);
    expect(await visible()).toEqual([]);
    const name = (await server.must({ path: "accessrequests", as: key("ann"), body: { metadata: {}, spec } })).metadata
      .name;
    await decide("carl", name, "Approve");
    expect(await visible()).toEqual(["embedded"]);
    expect(await statusOf(key("ann"), "clusters/embedded")).toBe(200);
    expect(await statusOf(key("ann"), "clusters/other")).toBe(403);
    const rename = {
      method: "PATCH",
      path: "clusters/embedded",
      as: key("ann"),
      headers: MERGE,
      body: { spec: { description: "x" } },
    };
    expect((await server.send(rename)).status).toBe(403);
    await decide("carl", name, "Revoke");
    expect([await visible(), await statusOf(key("ann"), "clusters/embedded")]).toEqual([[], 403]);
  });

  test("closes the streams that it opened", async () => {
    const name = await asked("ann");
    await decide("carl", name, "Approve");
    const watch = await openWatch(`${INSIDE}?watch=true`, key("ann"));
    expect(watch.status).toBe(200);
    await decide("carl", name, "Revoke");
    const revokedAt = Date.now();
    await watch.ended;
    // Far from the hour that the access would have had; by itself it takes milliseconds.
    expect(Date.now() - revokedAt).toBeLessThan(30_000);
  });

  test("does not widen keys that were made with a scope", async () => {
    const narrow = await server.key("ann-narrow", { user: "ann", scope: { virtualClusters: [TARGET] } });
    const name = await asked("ann");
    await decide("carl", name, "Approve");
    expect(await statusOf(key("ann"), INSIDE)).toBe(200);
    expect(await statusOf(narrow, INSIDE)).toBe(403);
    // Nor keys that are made while it lasts, in the name of the group.
    const { uid } = (await server.must({ path: `accessrequests/${name}` })).metadata;
    const forged = await server.send({
      path: "ownedaccesskeys",
      as: key("ann"),
      body: {
        metadata: { name: "ann-forged" },
        spec: { scope: { virtualClusters: [TARGET] }, groups: [`postern:access-request:${uid}`] },
      },
    });
    if (forged.status === 201) expect(await statusOf(forged.body.spec.key, INSIDE)).toBe(403);
    await withdrawn("ann", name);
  });

  test("ends kubeconfigs and certificates that were made with it", async () => {
    const name = await asked("ann", { durationSeconds: 1200 });
    await decide("carl", name, "Approve");
    const { expirationTimestamp } = (await server.must({ path: `accessrequests/${name}` })).status;
    const made = (spec: object) =>
      server.send({
        path: "namespaces/p-shop/virtualclusterinstances/prod/kubeconfig",
        as: key("ann"),
        body: { spec },
      });
    const token = await made({ certificateTTL: 7200 });
    expect(token.status).toBe(201);
    expect(Date.parse(token.body.status.expirationTimestamp)).toBeLessThanOrEqual(Date.parse(expirationTimestamp));
    const value = /token: (\S+)/.exec(token.body.status.kubeConfig)?.[1] ?? "";
    const signed = await made({ clientCert: true, certificateTTL: 7200 });
    expect(signed.status).toBe(201);
    expect(Date.parse(signed.body.status.expirationTimestamp)).toBeLessThanOrEqual(Date.parse(expirationTimestamp));
    const pem = (member: string): string =>
      Buffer.from(new RegExp(`${member}: (\\S+)`).exec(signed.body.status.kubeConfig)?.[1] ?? "", "base64").toString();
    const certificate = { cert: pem("client-certificate-data"), key: pem("client-key-data") };
    const byCertificate = async () => (await server.send({ path: INSIDE, certificate, as: "" })).status;
    expect([await statusOf(value, INSIDE), await byCertificate()]).toEqual([200, 200]);
    await decide("carl", name, "Revoke");
    expect([await statusOf(value, INSIDE), await byCertificate()]).toEqual([401, 401]);
    // Another access does not bring them back.
    const again = await asked("ann");
    await decide("carl", again, "Approve");
    expect(await statusOf(key("ann"), INSIDE)).toBe(200);
    expect([await statusOf(value, INSIDE), await byCertificate()]).toEqual([401, 401]);
    await withdrawn("ann", again);
  });
});

describe("a role for a time", () => {
  test("does not make itself last, nor is it given on", async () => {
    await policy("admins", { targets: [{ kind: "Project", projects: ["shop"], roles: ["postern:project-admin"] }] });
    const spec = { policy: { name: "admins" }, target: { project: "shop" }, role: "postern:project-admin" };
    const name = await asked("ann", spec);
    await decide("carl", name, "Approve");
    const as = key("ann");
    const change = (path: string, body: object) => server.send({ method: "PATCH", path, as, headers: MERGE, body });
    // It administers the project.
    expect((await change("projects/shop", { spec: { description: "by ann" } })).status).toBe(200);
    expect(await statusOf(as, "namespaces/p-shop/virtualclusterinstances/dev")).toBe(200);
    const members = [{ kind: "User", name: "ann", clusterRole: "postern:project-admin" }];
    const rbac = "rbac.authorization.k8s.io";
    const binding = {
      metadata: { name: "for-ever" },
      subjects: [{ kind: "User", apiGroup: rbac, name: "ann" }],
      roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "postern:project-admin" },
    };
    const rules = [
      { verbs: ["get"], apiGroups: ["management.postern"], resources: ["virtualclusterinstances/accesskey"] },
    ];
    const offer = {
      requesters: { users: ["ann"] },
      maxDurationSeconds: 600,
      autoApprove: "true",
      targets: [{ kind: "Project", roles: ["postern:project-admin"] }],
    };
    const inside = [{ kind: "VirtualCluster", names: ["dev"], roles: ["cluster-admin"] }];
    const attempts = [
      await change("projects/shop", { spec: { members } }),
      await change("projects/shop", { spec: { owner: { user: "ann" } } }),
      await change("namespaces/p-shop/virtualclusterinstances/dev", {
        spec: { extraAccessRules: [{ users: ["ann"], clusterRole: "edit" }] },
      }),
      await change("namespaces/p-shop/virtualclusterinstances/dev", {
        spec: { access: [{ users: ["ann"], verbs: ["use"], subresources: [] }] },
      }),
      await change("namespaces/p-shop/virtualclusterinstances/dev", { spec: { owner: { user: "ann" } } }),
      await server.send({ path: `/apis/${rbac}/v1/namespaces/p-shop/rolebindings`, as, body: binding }),
      await server.send({
        path: `/apis/${rbac}/v1/namespaces/p-shop/roles`,
        as,
        body: { metadata: { name: "mine" }, rules },
      }),
      await server.send({
        path: "namespaces/p-shop/accesspolicies",
        as,
        body: { metadata: { name: "mine" }, spec: offer },
      }),
      await server.send({
        path: "namespaces/p-shop/accesspolicies",
        as,
        body: { metadata: { name: "mine" }, spec: { ...offer, targets: inside } },
      }),
    ];
    expect(attempts.map(({ status }) => status)).toEqual(attempts.map(() => 403));
    await withdrawn("ann", name);
    expect(await statusOf(as, "projects/shop")).toBe(403);
  });
});

describe("a role for a time yields no credential that lasts", () => {
  const rule = {
    issuer: { url: "https://issuer.example", jwks: '{"keys":[]}' },
    audiences: ["us"],
    claims: [{ claim: "sub", values: ["x"] }],
    user: "robot",
  };
  const named = (spec: object) => ({ metadata: { name: "by-ann" }, spec });
  type Attempt = Omit<Parameters<AttackedServer["send"]>[0], "as">;
  /** Of everything on the management API that does, with the code of the answer. Values that come with a 201 are tried afterwards. */
  const ATTEMPTS: { readonly [kind: string]: readonly [code: number, attempt: Attempt] } = {
    "management/ownedaccesskeys": [201, { path: "ownedaccesskeys", body: named({ user: "ann" }) }],
    "management/ownedaccesskeys/rotate": [
      201,
      { path: "ownedaccesskeys/ann-key/rotate", body: { spec: { nonce: "n", gracePeriodSeconds: 3600 } } },
    ],
    "storage/accesskeys": [403, { path: "/apis/storage.postern/v1/accesskeys", body: named({ user: "ann" }) }],
    "management/virtualclusterinstances/kubeconfig": [
      201,
      { path: "namespaces/p-shop/virtualclusterinstances/prod/kubeconfig", body: { spec: {} } },
    ],
    "management/virtualclusterinstances/accesskey": [
      403,
      { path: "namespaces/p-shop/virtualclusterinstances/prod/accesskey" },
    ],
    "management/clusters/accesskey": [403, { path: "clusters/embedded/accesskey" }],
    "management/virtualclusterinstances/join": [
      403,
      { path: "namespaces/p-shop/virtualclusterinstances/outside/join", body: { spec: {} } },
    ],
    "management/clusters/join": [403, { path: "clusters/embedded/join", body: { spec: {} } }],
    "management/clustertrustrules": [403, { path: "clustertrustrules", body: named(rule) }],
    "management/trustrules": [403, { path: "namespaces/p-shop/trustrules", body: named(rule) }],
    "management/kubeconfiggenerators": [
      403,
      {
        path: "namespaces/p-shop/kubeconfiggenerators",
        body: named({ selector: {}, secretRef: { name: "by-ann" } }),
      },
    ],
    "management/identityproviders": [
      403,
      { path: "identityproviders", body: named({ issuer: { url: "https://issuer.example" }, clientID: "x" }) },
    ],
    // Data that ann writes herself.
    secrets: [201, { path: "/api/v1/namespaces/p-shop/secrets", body: { metadata: { name: "by-ann" } } }],
  };
  const valueIn = ({ body }: Answered): string =>
    body.spec?.key ?? body.status?.key ?? /token: (\S+)/.exec(body.status?.kubeConfig)?.[1] ?? "";

  test("is tried with every kind that yields one", () => {
    const kinds = CREDENTIAL_KINDS.filter(({ surface }) => surface === "management");
    const table = kinds.map(({ group, resource, subresource }) =>
      [group, resource, subresource].filter((part) => part !== "").join("/"),
    );
    expect(Object.keys(ATTEMPTS).sort()).toEqual([...table].sort());
  });

  test("of a project, by any of them", async () => {
    await server.must({ path: "users", body: { metadata: { name: "robot" }, spec: { kind: "Bot" } } });
    await server.must({
      path: "namespaces/p-shop/virtualclusterinstances",
      body: { metadata: { name: "outside" }, spec: { external: true, networkPeer: true } },
    });
    await policy("lasting", {
      targets: [{ kind: "Project", projects: ["shop"], roles: ["postern:project-admin"] }],
    });
    const spec = { policy: { name: "lasting" }, target: { project: "shop" }, role: "postern:project-admin" };
    const name = await asked("ann", spec);
    await decide("carl", name, "Approve");
    const values: string[] = [];
    for (const [kind, [code, attempt]] of Object.entries(ATTEMPTS)) {
      const answer = await server.send({ ...attempt, as: key("ann") });
      expect([kind, answer.status, code === answer.status ? "" : answer.text]).toEqual([kind, code, ""]);
      if (code === 201) values.push(valueIn(answer));
    }
    // The first use of the new value ends the old one.
    keys["ann"] = values[1] ?? "";
    const credentials = values.filter((value) => value !== "");
    const opened = async () =>
      await Promise.all(credentials.map(async (value) => (await statusOf(value, INSIDE)) === 200));
    expect(await opened()).toEqual([true, true, true]);
    const lasting = await server.send({
      path: "namespaces/p-shop/virtualclusterinstances/prod/accesskey",
      as: key("ann"),
    });
    expect(lasting.body.message).toContain(`the access request ${name} gives access for a time`);
    await withdrawn("ann", name);
    expect(await opened()).toEqual([false, false, false]);
    // A standing administrator of the project gets it.
    await server.must({ path: "namespaces/p-shop/virtualclusterinstances/prod/accesskey" });
  });
});

describe("an approval", () => {
  test("is not given by the requester, nor by another account of the same person", async () => {
    keys["ann2"] = await server.user("ann2", { email: "Ann@X.test" });
    await server.must({
      method: "PATCH",
      path: "teams/leads",
      headers: MERGE,
      body: { spec: { users: ["carl", "dora", "ann", "ann2"] } },
    });
    const name = await asked("ann");
    for (const user of ["ann", "ann2"]) {
      const refused = await decide(user, name, "Approve");
      expect([refused.status, refused.body.message]).toEqual([403, expect.stringContaining("their own requests")]);
    }
    expect(await phaseOf(name)).toBe("Pending");
    await withdrawn("ann", name);
    await server.must({
      method: "PATCH",
      path: "teams/leads",
      headers: MERGE,
      body: { spec: { users: ["carl", "dora"] } },
    });
  });

  test("is not given by a user who became an approver afterwards", async () => {
    const name = await asked("ann");
    await server.must({
      method: "PATCH",
      path: "teams/leads",
      headers: MERGE,
      body: { spec: { users: ["carl", "dora", "eve"] } },
    });
    const refused = await decide("eve", name, "Approve");
    expect([refused.status, refused.body.message]).toEqual([
      403,
      expect.stringContaining("after the request was made"),
    ]);
    await withdrawn("ann", name);
    // A later request is theirs to approve.
    const later = await asked("ann");
    expect((await decide("eve", later, "Approve")).status).toBe(201);
    await withdrawn("ann", later);
    await server.must({
      method: "PATCH",
      path: "teams/leads",
      headers: MERGE,
      body: { spec: { users: ["carl", "dora"] } },
    });
  });

  test("is not given with a key that the requester made, nor in the name of another user", async () => {
    await server.grant("makes-keys", "bob", [
      { verbs: ["impersonate"], apiGroups: ["management.postern"], resources: ["users"], resourceNames: ["carl"] },
      { verbs: ["impersonate"], apiGroups: [""], resources: ["users", "groups"] },
    ]);
    const borrowed = await server.key("carl-by-bob", { user: "carl" }, key("bob"));
    const name = await asked("bob");
    keys["borrowed"] = borrowed;
    const refused = await decide("borrowed", name, "Approve");
    expect([refused.status, refused.body.message]).toEqual([403, expect.stringContaining("created by the requester")]);
    const impersonated = await server.send({
      path: `accessrequests/${name}/approval`,
      as: key("bob"),
      headers: { "impersonate-user": "carl", "impersonate-group": "postern:user:carl" },
      body: { spec: { decision: "Approve" } },
    });
    expect(impersonated.status).toBe(403);
    expect(await phaseOf(name)).toBe("Pending");
    await withdrawn("bob", name);
  });

  test("counts once, and only while its giver may give it", async () => {
    await policy("two", { approvers: { teams: ["leads"], count: 2 } });
    const spec = { policy: { name: "two" }, target: { project: "shop" }, role: "postern:project-user" };
    const name = await asked("ann", spec);
    expect((await decide("carl", name, "Approve")).body.status).toMatchObject({ phase: "Pending", approvals: 1 });
    // A replay.
    expect((await decide("carl", name, "Approve")).status).toBe(409);
    expect(await phaseOf(name)).toBe("Pending");
    // The first approver leaves: the second approval is the first that counts.
    await server.must({ method: "PATCH", path: "teams/leads", headers: MERGE, body: { spec: { users: ["dora"] } } });
    expect((await decide("dora", name, "Approve")).body.status).toMatchObject({ phase: "Pending", approvals: 1 });
    await server.must({
      method: "PATCH",
      path: "teams/leads",
      headers: MERGE,
      body: { spec: { users: ["carl", "dora"] } },
    });
    expect((await decide("carl", name, "Approve")).body.status).toMatchObject({ phase: "Approved", approvals: 2 });
    await withdrawn("ann", name);
    // Of an ended request nothing can be approved.
    expect((await decide("dora", name, "Approve")).status).toBe(409);
  });

  test("does not survive a change of the policy, before or after", async () => {
    await policy("narrow", {});
    const spec = { policy: { name: "narrow" }, target: { project: "shop" }, role: "postern:project-user" };
    const [pending, approved] = [await asked("ann", spec), await asked("bob", spec)];
    await decide("carl", approved, "Approve");
    expect(await statusOf(key("bob"), "projects/shop")).toBe(200);
    const wide = {
      spec: {
        targets: [{ kind: "Project", projects: ["shop"], roles: ["postern:project-user", "postern:project-admin"] }],
      },
    };
    await server.must({ method: "PATCH", path: "clusteraccesspolicies/narrow", headers: MERGE, body: wide });
    // By its policy, or already denied for that.
    expect((await decide("carl", pending, "Approve")).status).toBe(409);
    await expect.poll(() => phaseOf(pending)).toBe("Denied");
    // The grant is what was asked for, not what the policy offers now.
    expect(
      (
        await server.send({
          method: "PATCH",
          path: "projects/shop",
          as: key("bob"),
          headers: MERGE,
          body: { spec: { description: "x" } },
        })
      ).status,
    ).toBe(403);
    const none = { spec: { targets: [{ kind: "Project", projects: ["shop"], roles: ["postern:project-viewer"] }] } };
    await server.must({ method: "PATCH", path: "clusteraccesspolicies/narrow", headers: MERGE, body: none });
    await expect.poll(() => phaseOf(approved)).toBe("Revoked");
    expect(await statusOf(key("bob"), "projects/shop")).toBe(403);
  });

  test("is not one of a role that is changed later", async () => {
    const rbac = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    const rules = [{ verbs: ["get"], apiGroups: ["management.postern"], resources: ["projects"] }];
    await server.must({ path: rbac, body: { metadata: { name: "looks" }, rules } });
    await policy("look", { targets: [{ kind: "Project", projects: ["shop"], roles: ["looks"] }] });
    const spec = { policy: { name: "look" }, target: { project: "shop" }, role: "looks" };
    const [pending, approved] = [await asked("ann", spec), await asked("bob", spec)];
    await decide("carl", approved, "Approve");
    expect(await statusOf(key("bob"), "projects/shop")).toBe(200);
    const wider = { rules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }] };
    await server.must({ method: "PATCH", path: `${rbac}/looks`, headers: MERGE, body: wider });
    expect((await decide("carl", pending, "Approve")).status).toBe(409);
    await expect.poll(() => phaseOf(approved)).toBe("Revoked");
    expect(await statusOf(key("bob"), "projects/shop")).toBe(403);
  });

  test("does not win against a revocation or a withdrawal of the same moment", async () => {
    await policy("race", { approvers: { teams: ["leads"], count: 2 } });
    const spec = { policy: { name: "race" }, target: { project: "shop" }, role: "postern:project-user" };
    for (let round = 0; round < 8; round++) {
      const name = await asked("ann", spec);
      const answers = await Promise.all([
        decide("carl", name, "Approve"),
        decide("dora", name, "Approve"),
        decide("ann", name, "Withdraw"),
        decide("dora", name, "Revoke"),
      ]);
      const phase = await phaseOf(name);
      // Withdrawn in any order, unless the revocation came between the last approval and it.
      expect(["Withdrawn", "Revoked"]).toContain(phase);
      expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
      expect(await statusOf(key("ann"), "projects/shop")).toBe(403);
    }
  });

  test("is not forged by writing the status, nor by changing what was asked for", async () => {
    const name = await asked("ann");
    const status = {
      phase: "Approved",
      approvedTimestamp: "2026-01-01T00:00:00Z",
      expirationTimestamp: "2099-01-01T00:00:00Z",
    };
    const created = await server.send({
      path: "accessrequests",
      as: key("ann"),
      body: {
        metadata: { name: "forged" },
        spec: { policy: { name: "edit-prod" }, target: TARGET, role: "edit" },
        status,
      },
    });
    expect(created.body.status.phase).toBe("Pending");
    // Also by an administrator, whose roles are others.
    for (const path of [`accessrequests/${name}`, `accessrequests/${name}/status`]) {
      expect(
        (await server.send({ method: "PATCH", path, as: key("ann"), headers: MERGE, body: { status } })).status,
      ).toBeGreaterThanOrEqual(403);
      await server.send({ method: "PATCH", path, headers: MERGE, body: { status } });
    }
    expect(await phaseOf(name)).toBe("Pending");
    const changed = await server.send({
      method: "PATCH",
      path: `accessrequests/${name}`,
      headers: MERGE,
      body: { spec: { role: "view" } },
    });
    expect(changed.status).toBe(422);
    await withdrawn("ann", name);
    await withdrawn("ann", "forged");
  });
});

describe("a policy", () => {
  test("offers nothing that its writer could not grant", async () => {
    await server.must({
      path: "projects",
      body: {
        metadata: { name: "own" },
        spec: { members: [{ kind: "User", name: "eve", clusterRole: "postern:project-admin" }] },
      },
    });
    const write = (targets: object[]) =>
      server.send({
        path: "namespaces/p-own/accesspolicies",
        as: key("eve"),
        body: {
          metadata: { generateName: "x-" },
          spec: { requesters: { users: ["ann"] }, maxDurationSeconds: 60, targets },
        },
      });
    expect((await write([{ kind: "Project", roles: ["postern:project-admin"] }])).status).toBe(201);
    const refused = await write([{ kind: "Project", roles: ["postern:project-admin", "postern:admin"] }]);
    expect([refused.status, refused.body.message]).toEqual([
      403,
      expect.stringMatching(/^accesspolicies\.management\.postern .*spec\.targets\[0\]\.roles\[1\]: user "eve"/),
    ]);
    expect((await write([{ kind: "Project", projects: ["shop"], roles: ["postern:project-viewer"] }])).status).toBe(
      422,
    );
    expect((await write([{ kind: "Cluster", names: ["embedded"] }])).status).toBeGreaterThanOrEqual(403);
  });

  test("is unknown to users who may not ask by it", async () => {
    expect(await statusOf(key("eve"), "clusteraccesspolicies/edit-prod")).toBe(404);
    const hidden = await ask("eve");
    const absent = await ask("eve", { policy: { name: "absent" } });
    const textOf = ({ body }: Answered): string =>
      body.message.replace("edit-prod", "absent").replace(/"access-\w+"/, "");
    expect([hidden.status, textOf(hidden)]).toEqual([403, textOf(absent)]);
    const refused = await server.send({ path: INSIDE, as: key("eve") });
    expect(refused.status).toBe(403);
    expect(refused.body.message).not.toContain("you may ask");
    const name = await asked("ann");
    expect(await statusOf(key("eve"), `accessrequests/${name}`)).toBe(404);
    expect((await decide("eve", name, "Approve")).status).toBe(404);
    await withdrawn("ann", name);
  });

  test("lets access be taken in an emergency, which is announced and reviewed by another person", async () => {
    await policy("fire", { allowEmergency: true });
    const spec = {
      policy: { name: "fire" },
      target: { project: "shop" },
      role: "postern:project-user",
      emergency: true,
    };
    const name = await asked("ann", spec);
    expect(await statusOf(key("ann"), "projects/shop")).toBe(200);
    expect((await ask("ann", { ...spec, policy: { name: "edit-prod" }, target: TARGET, role: "edit" })).status).toBe(
      422,
    );
    await expect
      .poll(
        async () => (await server.must({ path: "/api/v1/events?fieldSelector=reason=EmergencyAccess" })).items.length,
      )
      .toBe(1);
    expect((await decide("ann", name, "Review")).status).toBe(403);
    // Nor with a key of an approver that the requester made.
    const impersonates = { verbs: ["impersonate"], apiGroups: ["management.postern"], resources: ["users"] };
    await server.grant("makes-carls-keys", "ann", [{ ...impersonates, resourceNames: ["carl"] }]);
    keys["carl by ann"] = await server.key("carl-by-ann", { user: "carl" }, key("ann"));
    expect((await decide("carl by ann", name, "Review")).status).toBe(403);
    expect((await decide("carl", name, "Review")).status).toBe(201);
    const { conditions } = (await server.must({ path: `accessrequests/${name}` })).status;
    expect(conditions.find(({ type }: { type: string }) => type === "Reviewed")).toMatchObject({ status: "True" });
    await withdrawn("ann", name);
  });

  test("is held against the pattern of its reason, its duration and its roles", async () => {
    await policy("ticket", { reason: { pattern: "^OPS-[0-9]+" } });
    const spec = { policy: { name: "ticket" }, target: { project: "shop" }, role: "postern:project-user" };
    for (const [more, field] of [
      [{}, "spec.reason"],
      [{ reason: "because" }, "spec.reason"],
      [{ reason: "OPS-1", durationSeconds: 7200 }, "spec.durationSeconds"],
      [{ reason: "OPS-1", role: "postern:project-admin" }, "spec.role"],
      [{ reason: "OPS-1", target: { project: "none" } }, "spec.role"],
    ] as const) {
      const refused = await ask("ann", { ...spec, ...more });
      expect([refused.status, refused.body.details.causes.map((cause: { field: string }) => cause.field)]).toEqual([
        422,
        [field],
      ]);
    }
    await withdrawn("ann", await asked("ann", { ...spec, reason: "OPS-1 restart" }));
  });

  test("lets no requester find out what there is outside of its policy", async () => {
    await policy("gone", {
      targets: [{ kind: "VirtualCluster", projects: ["shop"], names: ["gone"], roles: ["view"] }],
    });
    const answerFor = async (target: object) => {
      const { status, body } = await ask("ann", { policy: { name: "gone" }, target, role: "view" });
      return [status, body.details.causes.map(({ field, message }: Record<string, string>) => `${field}: ${message}`)];
    };
    for (const target of [
      { project: "default" },
      { project: "none" },
      { project: "default", virtualCluster: "demo" },
      { project: "default", virtualCluster: "none" },
      { cluster: "embedded" },
      { cluster: "none" },
    ])
      expect(await answerFor(target)).toEqual([422, [expect.stringContaining("the policy does not offer this role")]]);
    expect(await answerFor({ project: "shop", virtualCluster: "gone" })).toEqual([
      422,
      [expect.stringContaining("spec.target: Not found")],
    ]);
  });
});

/** A watch that lasts: its status, and when it has ended. */
async function openWatch(
  path: string,
  token: string,
): Promise<{ readonly status: number; readonly ended: Promise<void> }> {
  const ca = await readFile(server.process.caFile);
  return await new Promise((resolve, reject) => {
    const sent = httpsRequest(
      new URL(path, server.process.url),
      { ca, headers: { authorization: `Bearer ${token}` } },
      (response) => {
        const ended = new Promise<void>((done) => response.on("close", done));
        response.resume();
        resolve({ status: response.statusCode ?? 0, ended });
      },
    );
    sent.on("error", reject);
    sent.end();
  });
}
