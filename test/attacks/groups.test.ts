// A writer of users, teams or instances tries to gain permissions by it, or to take those of stronger users.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { APPLY, type Attack, type AttackedServer, JSON_PATCH, MERGE, startAttacked } from "./testing/attacking.ts";

const PEOPLE = { apiGroups: ["management.postern"], resources: ["users", "teams"] };
const ADMINS = "postern:admins";
const v1 = "management.postern/v1";

let server: AttackedServer;
/** May write users and teams, and impersonate none. */
let clerk: string;
let count = 0;
beforeAll(async () => {
  server = await startAttacked();
  clerk = await server.user("clerk");
  await server.grant("clerks", "clerk", [{ verbs: ["*"], ...PEOPLE }].map(withoutImpersonation));
  await server.must({ path: "teams", body: { metadata: { name: "chiefs" }, spec: {} } });
  await server.must({ path: "users", body: { metadata: { name: "jane" }, spec: {} } });
  await server.must({
    path: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    body: {
      metadata: { name: "chiefs" },
      subjects: [{ kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: "postern:team:chiefs" }],
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "postern:admin" },
    },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

const withoutImpersonation = (rule: object) => ({
  ...rule,
  verbs: ["get", "list", "create", "update", "patch", "delete", "deletecollection"],
});
const patch = (path: string, body: object, headers = MERGE): Attack => ({ method: "PATCH", path, body, headers });
const applied = (path: string, kind: string, name: string, spec: object): Attack => ({
  ...patch(`${path}/${name}?fieldManager=clerk&force=true`, { apiVersion: v1, kind, metadata: { name }, spec }, APPLY),
});

/** Every way in which the clerk, or a user that the clerk controls, could become an administrator. */
const GAINS: readonly [what: string, attack: () => Attack][] = [
  ["a group of its own user", () => patch("users/clerk", { spec: { groups: [ADMINS] } })],
  [
    "a group, by JSON patch",
    () => patch("users/clerk", [{ op: "add", path: "/spec/groups", value: [ADMINS] }], JSON_PATCH),
  ],
  ["a group, applied", () => applied("users", "User", "clerk", { groups: [ADMINS] })],
  [
    "a group of somebody new",
    () => ({ path: "users", body: { metadata: { name: `n${++count}` }, spec: { groups: [ADMINS] } } }),
  ],
  ["a group that stands for a team", () => patch("users/clerk", { spec: { groups: ["postern:team:chiefs"] } })],
  ["a group that stands for a user", () => patch("users/clerk", { spec: { groups: ["postern:user:admin"] } })],
  ["a place in a privileged team", () => patch("teams/chiefs", { spec: { users: ["clerk"] } })],
  ["a place in it, applied", () => applied("teams", "Team", "chiefs", { users: ["clerk"] })],
  ["a group that leads into it", () => patch("teams/chiefs", { spec: { groups: ["anything"] } })],
  [
    "a new team whose group is bound already",
    () => ({ path: "teams", body: { metadata: { name: `t${++count}` }, spec: { users: ["clerk"] } } }),
  ],
  ["an administrator's subject", () => patch("users/clerk", { spec: { subject: "admin" } })],
  ["a subject that is bound", () => patch("users/jane", { spec: { subject: "somebody-who-is-bound" } })],
];

describe("a user who may write users and teams, but not impersonate", () => {
  for (const [what, attack] of GAINS) {
    test(`gains nothing by ${what} (security book 12, 29)`, async () => {
      for (const query of ["dryRun=All", ""]) {
        const asked = attack();
        const path = `${asked.path}${query === "" ? "" : `${asked.path.includes("?") ? "&" : "?"}${query}`}`;
        expect((await server.send({ ...asked, path, as: clerk })).status).toBe(403);
      }
      const { status } = await server.must({ path: "selves", as: clerk, body: {} });
      expect(status.groups).not.toContain(ADMINS);
      expect((await server.send({ path: "/apis/rbac.authorization.k8s.io/v1/clusterroles", as: clerk })).status).toBe(
        403,
      );
    });
  }

  test("gains nothing from a team that names a user before that user exists (security book 11)", async () => {
    await server.must(patch("teams/chiefs", { spec: { users: ["yet-to-come"] } }));
    const body = { metadata: { name: "yet-to-come" }, spec: {} };
    expect((await server.send({ path: "users", as: clerk, body })).status).toBe(403);
    expect((await server.send({ path: "users", body })).status).toBe(201);
  });

  const TAKINGS: readonly [what: string, attack: Attack][] = [
    ["locked", patch("users/admin", { spec: { disabled: true } })],
    ["deleted", { method: "DELETE", path: "users/admin" }],
    ["put out of its groups", patch("users/admin", { spec: { groups: [] } })],
    ["given another e-mail address", patch("users/admin", { spec: { email: "clerk@example.test" } })],
    ["given another subject", patch("users/admin", { spec: { subject: "nobody" } })],
    ["deleted with all users", { method: "DELETE", path: "users?fieldSelector=metadata.name=admin" }],
  ];
  for (const [what, attack] of TAKINGS) {
    test(`cannot have the administrator ${what} (security book 12)`, async () => {
      expect((await server.send({ ...attack, as: clerk })).status).toBe(403);
      expect(await server.isAccepted(server.admin)).toBe(true);
      expect((await server.must({ path: "users/admin" })).spec).toMatchObject({ subject: "admin", groups: [ADMINS] });
    });
  }

  test("cannot delete or empty a privileged team (security book 12)", async () => {
    await server.must(patch("teams/chiefs", { spec: { users: ["jane"] } }));
    expect((await server.send({ method: "DELETE", path: "teams/chiefs", as: clerk })).status).toBe(403);
    expect((await server.send({ ...patch("teams/chiefs", { spec: { users: [] } }), as: clerk })).status).toBe(403);
  });

  test("gives no user an identity to sign in with, although the user is an administrator of projects alone (security book 12)", async () => {
    await server.must({ path: "users", body: { metadata: { name: "leader" }, spec: {} } });
    const members = [{ kind: "User", name: "leader", clusterRole: "postern:project-admin" }];
    await server.must(patch("projects/default", { spec: { members } }));
    const identities = [{ provider: "example", subject: "clerk" }];
    const attempts = [
      patch("users/leader", { spec: { identities } }),
      patch("users/leader", [{ op: "add", path: "/spec/identities", value: identities }], JSON_PATCH),
      applied("users", "User", "leader", { identities }),
      applied("users", "User", "leader-to-be", { identities }),
      { path: "users", body: { metadata: { name: "leader-to-be" }, spec: { identities } } },
    ];
    for (const attempt of attempts) expect((await server.send({ ...attempt, as: clerk })).status).toBe(403);
    expect((await server.must({ path: "users/leader" })).spec.identities).toBeUndefined();
    // Those that are there stay when something else is written.
    await server.must(patch("users/leader", { spec: { identities } }));
    expect((await server.send({ ...patch("users/leader", { spec: { displayName: "x" } }), as: clerk })).status).toBe(
      200,
    );
    const other = [...identities, { provider: "example", subject: "another" }];
    expect((await server.send({ ...patch("users/leader", { spec: { identities: other } }), as: clerk })).status).toBe(
      403,
    );
  });

  test("looks after everybody else", async () => {
    const send = (attack: Attack) => server.send({ ...attack, as: clerk });
    expect(
      (await send({ path: "users", body: { metadata: { name: "new" }, spec: { email: "a@b.test" } } })).status,
    ).toBe(201);
    expect((await send(patch("users/new", { spec: { disabled: true, displayName: "x" } }))).status).toBe(200);
    expect(
      (await send({ path: "teams", body: { metadata: { name: "empty" }, spec: { displayName: "x" } } })).status,
    ).toBe(201);
    expect((await send({ method: "DELETE", path: "users/new" })).status).toBe(200);
    expect((await send({ method: "DELETE", path: "teams/empty" })).status).toBe(200);
  });
});

describe("a narrowed key of an administrator", () => {
  test("hands out no group of the administrator's (security book 2, 12)", async () => {
    const key = await server.key("people-only", {
      rules: [
        {
          verbs: ["get", "create", "update", "patch"],
          resources: [{ group: "management.postern", resources: ["users", "teams"] }],
        },
      ],
    });
    const attempts = [
      patch("users/jane", { spec: { groups: [ADMINS] } }),
      patch("teams/chiefs", { spec: { users: ["jane", "clerk"] } }),
      { path: "users", body: { metadata: { name: "x" }, spec: { groups: [ADMINS] } } },
    ];
    for (const attempt of attempts) expect((await server.send({ ...attempt, as: key })).status).toBe(403);
  });

  test("grants in roles and bindings only what it allows itself (security book 2)", async () => {
    const rbac = "/apis/rbac.authorization.k8s.io/v1";
    const key = await server.key("rbac-only", { rules: [{ resources: [{ group: "rbac.authorization.k8s.io" }] }] });
    const rules = [{ verbs: ["get"], apiGroups: [""], resources: ["secrets"] }];
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "postern:admin" };
    const subjects = [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "jane" }];
    const attempts: readonly Attack[] = [
      { path: `${rbac}/clusterroles`, body: { metadata: { name: "x" }, rules } },
      { path: `${rbac}/namespaces/p-default/roles`, body: { metadata: { name: "x" }, rules } },
      { path: `${rbac}/clusterrolebindings`, body: { metadata: { name: "x" }, roleRef, subjects } },
      { path: `${rbac}/namespaces/p-default/rolebindings`, body: { metadata: { name: "x" }, roleRef, subjects } },
    ];
    for (const attempt of attempts) expect((await server.send({ ...attempt, as: key })).status).toBe(403);
  });
});

describe("a caller who impersonates a user without the user's groups", () => {
  test("gets no key and no kubeconfig that is in them (security book 12, 29)", async () => {
    const actor = await server.user("actor");
    await server.grant("acts-as-admin", "actor", [
      { verbs: ["impersonate"], apiGroups: [""], resources: ["users"], resourceNames: ["admin"] },
    ]);
    const headers = { "impersonate-user": "admin" };
    const kubeconfig = "namespaces/p-default/virtualclusterinstances/demo/kubeconfig";
    for (const path of ["ownedaccesskeys", kubeconfig]) {
      expect((await server.send({ path, as: actor, headers, body: { spec: {} } })).status).toBe(403);
    }
    const rotate = { path: "ownedaccesskeys/admin/rotate", as: actor, headers, body: { spec: { nonce: "x" } } };
    expect((await server.send(rotate)).status).toBe(403);
  });
});

describe("access of others to an instance", () => {
  const instance = "namespaces/p-default/virtualclusterinstances/demo";
  test("never includes its status, not by a star either (security book 12)", async () => {
    const eve = await server.user("eve");
    const access = [{ users: ["eve"], verbs: ["*"], subresources: ["*", "status"] }];
    await server.must(patch(instance, { spec: { access } }));
    const body = { status: { phase: "Failed", reason: "Eve" } };
    expect((await server.send({ ...patch(`${instance}/status`, body), as: eve })).status).toBe(403);
    expect((await server.send({ path: instance, as: eve })).status).toBe(200);
  });

  test("cannot be granted by users with less (security book 12)", async () => {
    const joe = await server.user("joe");
    const access = [{ users: ["joe"], verbs: ["get", "update", "patch"] }];
    await server.must(patch(instance, { spec: { access, extraAccessRules: [] } }));
    const attempts = [
      { owner: { user: "joe" } },
      { access: [...access, { users: ["joe"], verbs: ["*"], subresources: ["*"] }] },
      { access: [...access, { users: ["*"], verbs: ["use"] }] },
      { access: [...access, { users: ["joe"], verbs: ["create"], subresources: ["kubeconfig"] }] },
      { extraAccessRules: [{ users: ["joe"], clusterRole: "cluster-admin" }] },
    ];
    for (const spec of attempts) {
      expect((await server.send({ ...patch(instance, { spec }), as: joe })).status).toBe(403);
    }
    const harmless = { displayName: "joe was here", access: [...access, { users: ["jane"], verbs: ["get"] }] };
    expect((await server.send({ ...patch(instance, { spec: harmless }), as: joe })).status).toBe(200);
  });
});
