import { resolveRequestInfo } from "@postern/apiserver/request/request-info";
import { describe, expect, test } from "vitest";
import { accessKey } from "../access-keys/testing/access-key.ts";
import { createPlatformAuthorizer } from "./platform-authorizer.ts";
import type { PlatformRequest } from "./request/platform-request.ts";
import {
  admin,
  inner,
  instanceWith,
  intoCluster,
  intoSpace,
  intoVirtualCluster,
  management,
  memorySources,
  names,
  type Project,
  path,
  ruled,
  scoped,
  UNOWNED,
  userInfo,
  withKey,
  world,
} from "./testing/memory-world.ts";

const project: Project = {
  name: "a",
  owner: { user: "olga", team: "" },
  members: [
    { kind: "User", name: "adam", clusterRole: "postern:project-admin" },
    { kind: "Team", name: "devs", clusterRole: "postern:project-user" },
    { kind: "User", name: "vera", clusterRole: "postern:project-viewer" },
    { kind: "Team", name: "readers", clusterRole: "postern:project-reader" },
    { kind: "Group", name: "nina", clusterRole: "postern:project-admin" },
    { kind: "User", name: "mona", clusterRole: "missing" },
  ],
};
const instance = instanceWith({
  owner: { user: "ines", team: "" },
  access: [
    { verbs: ["get", "use"], subresources: [], users: ["greta"], teams: [] },
    { verbs: ["create"], subresources: ["kubeconfig"], users: ["greta"], teams: [] },
    { verbs: ["*"], subresources: ["*"], users: [], teams: ["ops"] },
  ],
});
const platform = () => {
  const sources = memorySources(world({ projects: [project], instances: [instance] }));
  return { ...sources, authorizer: createPlatformAuthorizer(sources) };
};

const vci = (verb: string, subresource = "", parts = {}): PlatformRequest =>
  management({ verb, resource: "virtualclusterinstances", namespace: "p-a", name: "v1", subresource, ...parts });
const prj = (verb: string, subresource = ""): PlatformRequest =>
  management({ verb, resource: "projects", name: "a", subresource });
const createVci: PlatformRequest = vci("create", "", { name: "" });
const secrets: PlatformRequest = management({ apiGroup: "", resource: "secrets", verb: "list", namespace: "p-a" });
const kubeConfig = vci("create", "kubeconfig");
const proxy = intoVirtualCluster("a", "v1");
const ownKeys = management({ verb: "create", resource: "ownedaccesskeys" });

describe("permissions of users", () => {
  const rows: readonly (readonly [
    who: string,
    teams: readonly string[],
    may: PlatformRequest[],
    mayNot: PlatformRequest[],
  ])[] = [
    [
      "adam",
      [],
      [vci("get"), vci("use"), kubeConfig, createVci, vci("delete"), prj("update"), secrets, proxy],
      [prj("delete")],
    ],
    ["olga", [], [createVci, prj("update"), prj("get", "clusters"), secrets, proxy], [prj("delete")]],
    [
      "paul",
      ["devs"],
      [vci("get"), vci("use"), kubeConfig, prj("get"), prj("use"), proxy],
      [createVci, vci("update"), secrets, prj("update")],
    ],
    ["vera", [], [vci("get"), prj("get"), prj("get", "clusters")], [vci("use"), kubeConfig, proxy, createVci, secrets]],
    [
      "rita",
      ["readers"],
      [vci("get"), vci("use"), kubeConfig, prj("get"), prj("get", "clusters"), proxy],
      [createVci, vci("update"), vci("get", "accesskey"), secrets, prj("update"), prj("use")],
    ],
    ["nina", [], [], [vci("get"), prj("get"), proxy]],
    ["mona", [], [], [vci("get"), prj("get"), proxy]],
    [
      "ines",
      [],
      [vci("get"), vci("update"), vci("delete"), vci("use"), kubeConfig, vci("get", "accesskey"), proxy],
      [createVci, vci("update", "status"), prj("use"), vci("deletecollection", "", { name: "" })],
    ],
    ["greta", [], [vci("get"), vci("use"), kubeConfig, proxy], [vci("update"), vci("delete"), vci("get", "accesskey")]],
    ["otto", ["ops"], [vci("get"), vci("delete"), kubeConfig, vci("get", "accesskey"), proxy], [createVci, prj("use")]],
    [
      "carl",
      [],
      [ownKeys, path("/apis"), management({ verb: "create", resource: "selves" })],
      [vci("get"), prj("get"), proxy, path("/metrics")],
    ],
  ];

  test.each(rows)("%s, in %j", (who, teams, may, mayNot) => {
    const { authorizer } = platform();
    const subject = { user: userInfo(who, ...teams) };
    const verdicts = (requests: readonly PlatformRequest[]) =>
      requests.map((request) => [request, authorizer.decide(request, subject).verdict]);
    expect(verdicts(may)).toEqual(may.map((request) => [request, "allow"]));
    expect(verdicts(mayNot)).toEqual(mayNot.map((request) => [request, "no-opinion"]));
  });

  test("administrators may do everything", () => {
    const { authorizer } = platform();
    for (const request of [
      vci("delete"),
      createVci,
      prj("delete"),
      intoCluster("c1"),
      intoSpace("x", "y"),
      path("/metrics"),
    ]) {
      expect(authorizer.decide(request, { user: admin }).code).toBe("role");
    }
  });

  test("everybody sees the own user and teams, and the keys below them", () => {
    const { authorizer } = platform();
    const decide = (resource: string, name: string, subresource = "", verb = "get") =>
      authorizer.decide(management({ verb, resource, name, subresource }), { user: userInfo("carl", "devs") }).code;
    expect(decide("users", "carl")).toBe("own-user");
    expect(decide("users", "carl", "accesskeys")).toBe("own-user");
    expect(decide("teams", "devs")).toBe("own-team");
    expect(decide("users", "carl", "", "update")).toBe("no-right");
    expect(decide("users", "adam")).toBe("no-right");
    expect(decide("users", "adam", "accesskeys")).toBe("no-right");
    expect(decide("teams", "ops")).toBe("no-right");
  });

  test("lists of filtered kinds are allowed only for authenticated callers", () => {
    const { authorizer } = platform();
    for (const verb of ["list", "watch"]) {
      for (const resource of ["projects", "clusters", "users", "teams", "virtualclusterinstances", "spaceinstances"]) {
        const request = management({ verb, resource });
        expect(authorizer.decide(request, { user: userInfo("carl") }).code).toBe("filtered-list");
        expect(authorizer.decide(request, { user: { name: "system:anonymous", groups: [] } }).verdict).toBe(
          "no-opinion",
        );
      }
    }
    expect(authorizer.decide(secrets, { user: userInfo("carl") }).verdict).toBe("no-opinion");
  });

  test("proxies ask for `use` of what is behind them", () => {
    const { authorizer } = platform();
    const verdict = (request: PlatformRequest, user = userInfo("adam")) => authorizer.decide(request, { user }).verdict;
    expect(verdict(intoVirtualCluster("a", "v1"))).toBe("allow");
    expect(verdict(intoSpace("a", "s1"))).toBe("allow");
    expect(verdict(intoVirtualCluster("b", "v1"))).toBe("no-opinion");
    expect(verdict(intoCluster("c1"))).toBe("no-opinion");
    expect(verdict(intoCluster("c1"), admin)).toBe("allow");
  });

  test("a virtual cluster's own key can review others and read its instance while the instance exists", () => {
    const { authorizer } = platform();
    const decide = (request: PlatformRequest, name = "postern:vcluster:p-a:v1") =>
      authorizer.decide(request, { user: { name, groups: ["system:authenticated"] } }).code;
    const tokenReview = management({ apiGroup: "authentication.k8s.io", resource: "tokenreviews", verb: "create" });
    expect(decide(tokenReview)).toBe("virtual-cluster-identity");
    expect(decide(management({ verb: "introspect", resource: "selves" }))).toBe("virtual-cluster-identity");
    expect(decide(vci("get", "accesskey"))).toBe("virtual-cluster-identity");
    expect(decide(vci("update"))).toBe("no-right");
    expect(decide(tokenReview, "postern:vcluster:p-a:gone")).toBe("no-right");
    expect(decide(tokenReview, "postern:vcluster:p-a:v1:x")).toBe("no-right");
  });
});

describe("access keys", () => {
  const alice = userInfo("adam");

  test("a key is looked up for every decision: revocation takes effect at once", () => {
    const { authorizer, access } = platform();
    const key = accessKey();
    const verdict = () => authorizer.decide(vci("get"), withKey(alice, key));
    expect(verdict()).toMatchObject({ verdict: "deny", code: "key-refused" });
    access.setKey(key);
    expect(verdict().verdict).toBe("allow");
    access.setRefusal("disabled");
    expect(verdict()).toMatchObject({ code: "key-refused", annotations: { "postern/authorization-key": "disabled" } });
    expect(verdict().reason).not.toContain("disabled");
    access.setRefusal(undefined);
    expect(verdict().verdict).toBe("allow");
    access.setKey({ ...key, restrictions: scoped({}), revision: 2 });
    expect(verdict()).toMatchObject({ verdict: "deny", code: "out-of-scope" });
    access.setKey(undefined, key.id);
    expect(verdict().code).toBe("key-refused");
  });

  test("other credentials than access keys carry a prefix in their handle", () => {
    const { authorizer } = platform();
    expect(authorizer.decide(vci("get"), { user: alice, credential: { id: "token-file:x" } }).verdict).toBe("allow");
  });

  test("decisions follow roles, memberships and owners", () => {
    const { authorizer, access, rbac } = platform();
    const mia = { user: userInfo("mia") };
    expect(authorizer.decide(vci("get"), mia).verdict).toBe("no-opinion");
    const before = authorizer.policyVersion.version;
    access.setProject({ ...project, members: [{ kind: "User", name: "mia", clusterRole: "postern:project-viewer" }] });
    expect(authorizer.policyVersion.version).toBeGreaterThan(before);
    expect(authorizer.decide(vci("get"), mia).code).toBe("project-member");
    rbac.setRole("", "postern:project-viewer", []);
    expect(authorizer.decide(vci("get"), mia).verdict).toBe("no-opinion");
    access.setInstance({ ...instance, owner: { user: "mia", team: "" } });
    expect(authorizer.decide(vci("get"), mia).code).toBe("instance-owner");
    access.setInstance({ ...instance, owner: UNOWNED });
    expect(authorizer.decide(vci("get"), mia).verdict).toBe("no-opinion");
  });

  test("the scope applies to impersonated users as well", () => {
    const { authorizer, access } = platform();
    const key = accessKey({
      owner: { kind: "user", name: "admin" },
      restrictions: scoped({ projects: [{ project: "b" }] }),
    });
    access.setKey(key);
    expect(authorizer.decide(vci("get"), withKey(admin, key)).code).toBe("out-of-scope");
    expect(authorizer.decide(vci("get"), withKey(userInfo("adam"), key)).code).toBe("out-of-scope");
  });

  test("two users of one name but other groups are two users to the memo", () => {
    const { authorizer } = platform();
    expect(authorizer.decide(vci("get"), { user: userInfo("paul", "devs") }).verdict).toBe("allow");
    expect(authorizer.decide(vci("get"), { user: userInfo("paul") }).verdict).toBe("no-opinion");
  });

  test("texts that would run together in a memo's key stay apart", () => {
    const { authorizer, rbac } = platform();
    rbac.setRole("", "odd", [
      { verbs: ["get"], apiGroups: ["x"], resources: ["y"], resourceNames: ['","'], nonResourceURLs: [] },
    ]);
    rbac.setBinding({
      name: "odd",
      namespace: "",
      subjects: [{ kind: "User", name: "carl", namespace: "" }],
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "odd" },
    });
    const ask = (parts: Parameters<typeof inner>[0]) =>
      authorizer.decide(
        { target: "Management", inner: inner({ apiGroup: "x", resource: "y", ...parts }) },
        { user: userInfo("carl") },
      ).verdict;
    expect(ask({ name: '","' })).toBe("allow");
    expect(ask({ namespace: '","', name: "" })).toBe("no-opinion");
    expect(ask({ subresource: '","' })).toBe("no-opinion");
  });

  test("an explanation judges every condition, also behind the first that fails", () => {
    const { authorizer, access } = platform();
    const key = accessKey({ restrictions: scoped({ clusters: [{ cluster: "c1" }] }) });
    access.setKey(key);
    expect(authorizer.explainDecision(vci("get"), withKey(userInfo("carl"), key))).toMatchObject({
      decision: { verdict: "no-opinion", code: "no-right" },
      steps: [
        { step: "key", passed: true },
        { step: "right", passed: false },
        { step: "scope", passed: false, reason: "out-of-scope" },
      ],
    });
    expect(authorizer.explainDecision(vci("get"), withKey(userInfo("adam"), key)).decision).toMatchObject({
      verdict: "deny",
      annotations: { "postern/authorization-right": "project-member", "postern/authorization-scope": "out-of-scope" },
    });
  });
});

describe("the CVE book", () => {
  const adam = userInfo("adam");

  test("watching is decided as listing is (security book 3)", () => {
    const { authorizer, access } = platform();
    const key = accessKey({ restrictions: scoped({ virtualClusters: [{ project: "a", virtualCluster: "v1" }] }) });
    access.setKey(key);
    for (const [resource, apiGroup] of [
      ["secrets", ""],
      ["events", ""],
      ["ownedaccesskeys", names.managementGroup],
      ["rolebindings", "rbac.authorization.k8s.io"],
    ] as const) {
      for (const namespace of ["", "p-a"]) {
        const ask = (verb: string) =>
          authorizer.decide(management({ apiGroup, resource, namespace, verb }), withKey(adam, key)).verdict;
        expect({ resource, namespace, watch: ask("watch") }).toEqual({ resource, namespace, watch: ask("list") });
        expect(ask("watch")).not.toBe("allow");
      }
    }
  });

  test("no alias of a verb reaches what the verb does not (security book 4)", () => {
    const { authorizer, access } = platform();
    const key = accessKey({ restrictions: scoped({ virtualClusters: [{ project: "a", virtualCluster: "v1" }] }) });
    access.setKey(key);
    const base = `/apis/${names.managementGroup}/v1/namespaces/p-a/virtualclusterinstances`;
    const aliases: readonly (readonly [method: string, path: string, query?: string])[] = [
      ["GET", `${base}/v2`],
      ["HEAD", `${base}/v2`],
      ["OPTIONS", `${base}/v1`],
      ["GET", `${base}/v2`, "watch=1"],
      ["GET", `${base}/v2/`],
      ["GET", `${base}/v2`, "fieldSelector=metadata.name=v1"],
      ["PUT", `${base}/v1`],
      ["PATCH", `${base}/v1`, "dryRun=All"],
      ["DELETE", `${base}/v1`],
      ["DELETE", base],
      ["DELETE", base, "fieldSelector=metadata.name=v1"],
      ["POST", base, "dryRun=All"],
      ["GET", `${base}/v1/status`],
      ["POST", `${base}/v1/accesskey`],
      ["GET", `${base}/v1/kubeconfig/x`],
      ["GET", `/api/v1/namespaces/p-a/secrets`],
      ["GET", `/api/v1/watch/namespaces/p-a/secrets`],
      ["GET", `/api/v1/proxy/namespaces/p-a/secrets/v1`],
      ["CONNECT", `${base}/v1`],
    ];
    for (const [method, url, query = ""] of aliases) {
      const info = resolveRequestInfo(method, url, new URLSearchParams(query));
      const { verdict } = authorizer.decide({ target: "Management", inner: info }, withKey(adam, key));
      expect({ method, url, query, verdict }).not.toMatchObject({ verdict: "allow" });
    }
    const open = resolveRequestInfo("HEAD", `${base}/v1`, new URLSearchParams());
    expect(authorizer.decide({ target: "Management", inner: open }, withKey(adam, key)).verdict).toBe("allow");
  });

  test("the name of another user's key, user or instance grants no access (security book 5)", () => {
    const { authorizer } = platform();
    const stranger = { user: userInfo("carl") };
    for (const verb of ["get", "update", "patch", "delete", "use", "introspect", "impersonate"]) {
      for (const request of [
        management({ verb, resource: "users", name: "adam" }),
        management({ verb, resource: "users", name: "adam", subresource: "accesskeys" }),
        management({ verb, apiGroup: names.storageGroup, resource: "accesskeys", name: "k" }),
        management({ verb, apiGroup: "", resource: "users", name: "adam" }),
        management({ verb, resource: "selves", name: "k" }),
        vci(verb),
        vci(verb, "accesskey"),
      ]) {
        expect({ request, verdict: authorizer.decide(request, stranger).verdict }).toEqual({
          request,
          verdict: "no-opinion",
        });
      }
    }
  });

  test("an object with a reused name belongs to its present owner, not to the former one (security book 11)", () => {
    const { authorizer, access } = platform();
    const ines = { user: userInfo("ines") };
    expect(authorizer.decide(vci("delete"), ines).verdict).toBe("allow");
    access.setInstance({ ...instance, owner: { user: "paul", team: "" }, access: [] });
    expect(authorizer.decide(vci("delete"), ines).verdict).toBe("no-opinion");
    access.setProject({ ...project, owner: UNOWNED, members: [] });
    expect(authorizer.decide(prj("get"), { user: userInfo("olga") }).verdict).toBe("no-opinion");
  });

  test("a project administrator cannot create or rotate others' keys (security book 12)", () => {
    const { authorizer } = platform();
    for (const user of [adam, userInfo("olga")]) {
      for (const request of [
        management({ verb: "create", apiGroup: names.storageGroup, resource: "accesskeys" }),
        management({ verb: "update", resource: "users", name: "admin" }),
        management({ verb: "impersonate", apiGroup: "", resource: "users", name: "admin" }),
        management({ verb: "impersonate", apiGroup: "", resource: "groups", name: names.adminsGroup }),
        management({
          verb: "bind",
          apiGroup: "rbac.authorization.k8s.io",
          resource: "clusterroles",
          name: "postern:admin",
        }),
      ]) {
        expect(authorizer.decide(request, { user }).verdict).toBe("no-opinion");
      }
    }
  });

  test("system:masters means nothing to a request that carries a credential (security book 29)", () => {
    const { authorizer, access } = platform();
    const masters = { name: "x", groups: ["system:masters", "system:authenticated"] };
    access.setKey(accessKey());
    for (const id of [accessKey().id, "certificate:01", "token-file:x"]) {
      expect(authorizer.decide(vci("delete"), { user: masters, credential: { id } }).verdict).toBe("no-opinion");
    }
    expect(authorizer.decide(vci("delete"), { user: masters }).code).toBe("masters");
  });

  test("a key that is narrowed by rules alone is held to them on the way through a proxy", () => {
    const { authorizer, access } = platform();
    const key = accessKey({ restrictions: ruled({ verbs: ["list"], requestTargets: ["ProjectVirtualCluster"] }) });
    access.setKey(key);
    expect(authorizer.decide(proxy, withKey(adam, key)).verdict).toBe("allow");
    expect(
      authorizer.decide(intoVirtualCluster("a", "v1", { verb: "delete", resource: "pods" }), withKey(adam, key)).code,
    ).toBe("out-of-rules");
    expect(authorizer.decide(vci("get"), withKey(adam, key)).code).toBe("out-of-rules");
  });
});
