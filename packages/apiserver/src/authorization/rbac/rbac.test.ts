// Replays what kube-apiserver v1.32 answers. Vectors: plugin/pkg/auth/authorizer/rbac/rbac_test.go,
// component-helpers auth/rbac/validation/policy_comparator_test.go, pkg/registry/rbac/validation/rule_test.go.

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { AuthorizationAttributes } from "../authorizer.ts";
import { readPolicyRule, readPolicyRules } from "./policy-rule.ts";
import { createRbacAuthorizer, joinRules, policyRulesOf } from "./rbac-authorizer.ts";
import { RbacIndex } from "./rbac-index.ts";
import { readBinding } from "./role-binding.ts";
import { pathMatches } from "./rule-attributes.ts";
import { compactRules, describeRule, uncoveredRules } from "./rule-coverage.ts";
import { RuleIndex, resolveRules } from "./rule-index.ts";

const casesOf = (file: string): any[] =>
  JSON.parse(readFileSync(new URL(`./testdata/${file}.json`, import.meta.url), "utf8")).cases;

const attributesOf = (json: any): AuthorizationAttributes => ({
  user: { name: json.user ?? "", groups: json.groups ?? [] },
  verb: json.verb,
  isResourceRequest: json.resourceRequest,
  apiGroup: json.apiGroup ?? "",
  apiVersion: "*",
  resource: json.resource ?? "",
  subresource: json.subresource ?? "",
  namespace: json.namespace ?? "",
  name: json.name ?? "",
  path: json.path ?? "",
});

const plain = (rule: any) => Object.fromEntries(Object.entries(rule).filter(([, list]) => (list as []).length > 0));

const allows = (rule: any, attributes: any): boolean =>
  new RuleIndex([readPolicyRule(rule)]).allows(attributesOf(attributes));

describe("RuleIndex", () => {
  it("answers as kube-apiserver for every recorded rule and request", () => {
    const cases = casesOf("07a-rbac-rule-allows");
    expect(cases.length).toBe(1320);
    expect(cases.filter((c) => allows(c.rule, c.attributes) !== c.allowed)).toEqual([]);
  });
});

describe("a rule", () => {
  const opens = (rule: object, attributes: object): boolean =>
    allows({ verbs: ["get"], apiGroups: [""], ...rule }, { verb: "get", ...attributes });

  it.each([
    ["*/status", "status", true],
    ["*/status", "", false],
    ["*/", "", false],
    ["*/xstatus", "status", false],
    ["abstatus", "status", false],
    ["*status", "status", false],
  ])("about %s allows pods/%s: %s", (resource, subresource, expected) => {
    expect(opens({ resources: [resource] }, { resourceRequest: true, resource: "pods", subresource })).toBe(expected);
  });

  it.each([
    ["/a**", "/ab", true],
    ["/a*b*", "/a*bc", true],
    ["/a*b*", "/axb", false],
    ["/a*b", "/axb", false],
    ["*", "/", true],
  ])("about the path %s allows %s: %s", (url, path, expected) => {
    expect(opens({ nonResourceURLs: [url] }, { resourceRequest: false, path })).toBe(expected);
  });
});

describe("the rules of another, and the subjects of a binding", () => {
  for (const c of [...casesOf("07c-rbac-covers"), ...casesOf("07d-rbac-subject-applies")]) {
    it(`${c.id} ${c.kind}`, () => {
      if (c.kind === "covers") {
        const uncovered = uncoveredRules(readPolicyRules(c.ownerRules), readPolicyRules(c.servantRules));
        expect(uncovered.map(plain)).toEqual(c.uncovered);
      } else if (c.kind === "nonResourceURLCovers") {
        expect(pathMatches(c.owner, c.requested)).toBe(c.covers);
      } else {
        expect(applies(c)).toBe(c.applies);
      }
    });
  }

  /** Whether a binding of the subjects gives the user its role. */
  function applies({ user, groups, subjects, namespace }: any): boolean {
    const rules = [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }];
    const metadata = { name: "all", ...(namespace === "" ? {} : { namespace }) };
    const binding = { metadata, subjects, roleRef: roleRef("ClusterRole", "all") };
    const source = indexOf({ clusterRoles: [{ metadata: { name: "all" }, rules }], bindings: [binding] });
    const asked = request(user, groups ?? [], { namespace });
    return createRbacAuthorizer({ source }).authorize(asked).verdict === "allow";
  }
});

describe("rule texts", () => {
  it("joins the verbs of rules about one resource and prints them as Go does", () => {
    const rules = readPolicyRules([
      { verbs: ["get"], apiGroups: [""], resources: ["pods"] },
      { verbs: ["list"], apiGroups: [""], resources: ["pods"] },
      { verbs: ["get"], nonResourceURLs: ["/x"] },
    ]);
    expect(compactRules(rules).map(describeRule)).toEqual([
      '{NonResourceURLs:["/x"], Verbs:["get"]}',
      '{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}',
    ]);
  });
});

const indexOf = ({ roles = [], clusterRoles = [], bindings = [] }: { [list: string]: any[] | null }): RbacIndex => {
  const index = new RbacIndex();
  for (const role of [...(roles ?? []), ...(clusterRoles ?? [])]) {
    index.setRole(role.metadata.namespace ?? "", role.metadata.name, readPolicyRules(role.rules));
  }
  for (const binding of bindings ?? []) index.setBinding(readBinding(binding));
  return index;
};

const request = (user: string, groups: string[], more: object = {}): AuthorizationAttributes =>
  attributesOf({ user, groups, verb: "get", resourceRequest: true, resource: "pods", namespace: "ns1", ...more });

const roleRef = (kind: string, name: string) => ({ apiGroup: "rbac.authorization.k8s.io", kind, name });

describe("createRbacAuthorizer", () => {
  for (const c of casesOf("07b-rbac-authorizer")) {
    it(c.id, () => {
      const bindings = [...(c.roleBindings ?? []), ...(c.clusterRoleBindings ?? [])];
      const { authorize } = createRbacAuthorizer({ source: indexOf({ ...c, bindings }) });
      for (const json of c.allow) expect(authorize(attributesOf(json)).verdict).toBe("allow");
      for (const json of c.deny) expect(authorize(attributesOf(json)).verdict).toBe("no-opinion");
    });
  }

  const source = indexOf({
    clusterRoles: [
      { metadata: { name: "reader" }, rules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }] },
      { metadata: { name: "web" }, rules: [{ verbs: ["get"], nonResourceURLs: ["/web/*"] }] },
    ],
    roles: [
      { metadata: { name: "writer", namespace: "ns1" }, rules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }] },
    ],
    bindings: [
      {
        metadata: { name: "readers" },
        subjects: [{ kind: "Group", name: "devs" }],
        roleRef: roleRef("ClusterRole", "reader"),
      },
      {
        metadata: { name: "robots", namespace: "ns1" },
        subjects: [{ kind: "ServiceAccount", name: "robot" }],
        roleRef: roleRef("Role", "writer"),
      },
      {
        metadata: { name: "webbers" },
        subjects: [{ kind: "User", name: "wendy" }],
        roleRef: roleRef("ClusterRole", "web"),
      },
      {
        metadata: { name: "broken", namespace: "ns1" },
        subjects: [{ kind: "User", name: "bo" }],
        roleRef: roleRef("ClusterRole", "gone"),
      },
      {
        metadata: { name: "cross" },
        subjects: [{ kind: "User", name: "bo" }],
        roleRef: roleRef("Role", "writer"),
      },
    ],
  });
  const authorizer = createRbacAuthorizer({ source });
  const robot = "system:serviceaccount:ns1:robot";

  it.each([
    [
      request("al", ["devs"]),
      "allow",
      'RBAC: allowed by ClusterRoleBinding "readers" of ClusterRole "reader" to Group "devs"',
    ],
    [request("al", ["devs"], { verb: "list" }), "no-opinion", ""],
    [
      request(robot, [], { verb: "delete" }),
      "allow",
      'RBAC: allowed by RoleBinding "robots/ns1" of Role "writer" to ServiceAccount "robot/ns1"',
    ],
    [request(robot, [], { namespace: "ns2" }), "no-opinion", ""],
    [request(robot, [], { namespace: "" }), "no-opinion", ""],
    [
      request("bo", []),
      "no-opinion",
      'RBAC: [role.rbac.authorization.k8s.io "writer" not found, clusterrole.rbac.authorization.k8s.io "gone" not found]',
    ],
    [request("devs", []), "no-opinion", ""],
  ])("decides %#", (attributes, verdict, reason) => {
    expect(authorizer.authorize(attributes)).toEqual({ verdict, reason });
  });

  it("lists everything that a user may do in a namespace", () => {
    expect(authorizer.rulesFor({ name: robot, groups: ["devs"] }, "ns1")).toEqual({
      resourceRules: [
        { verbs: ["get"], apiGroups: [""], resources: ["pods"] },
        { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
      ],
      nonResourceRules: [],
      incomplete: false,
    });
    expect(authorizer.rulesFor({ name: "wendy", groups: [] }, "ns1").nonResourceRules).toEqual([
      { verbs: ["get"], nonResourceURLs: ["/web/*"] },
    ]);
    expect(authorizer.rulesFor({ name: "wendy", groups: [] }, "ns1").resourceRules).toEqual([]);
    expect(authorizer.rulesFor({ name: "bo", groups: [] }, "ns1")).toMatchObject({
      incomplete: true,
      evaluationError:
        '[role.rbac.authorization.k8s.io "writer" not found, clusterrole.rbac.authorization.k8s.io "gone" not found]',
    });
    expect(authorizer.rulesFor({ name: "bo", groups: [] }, "ns2")).toMatchObject({
      incomplete: true,
      evaluationError: 'role.rbac.authorization.k8s.io "writer" not found',
    });
  });

  it.each([
    [{ kind: "User", name: "al" }, 'User "al"'],
    [{ kind: "Group", name: "devs" }, 'Group "devs"'],
  ])("names the first binding that allows: %j", (subject, text) => {
    const metadata = { name: "reader" };
    const rules = [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }];
    const roleOf = { subjects: [subject], roleRef: roleRef("ClusterRole", "reader") };
    const bindings = [
      { metadata: { name: "wide" }, ...roleOf },
      { metadata: { name: "narrow", namespace: "ns1" }, ...roleOf },
    ];
    const { authorize } = createRbacAuthorizer({ source: indexOf({ clusterRoles: [{ metadata, rules }], bindings }) });
    expect(authorize(request("al", ["devs"])).reason).toBe(
      `RBAC: allowed by ClusterRoleBinding "wide" of ClusterRole "reader" to ${text}`,
    );
  });

  it("looks for the grants of the whole cluster once, also where no namespace is asked about", () => {
    const asked: string[] = [];
    const counting = {
      version: source.version,
      onChange: source.onChange.bind(source),
      changesSince: source.changesSince.bind(source),
      isBoundTo: source.isBoundTo.bind(source),
      rulesOf: source.rulesOf.bind(source),
      grantsToGroup: source.grantsToGroup.bind(source),
      grantsToUser: (namespace: string, name: string) => {
        asked.push(namespace);
        return source.grantsToUser(namespace, name);
      },
    };
    const counted = createRbacAuthorizer({ source: counting });
    counted.authorize(request("nobody", [], { namespace: "" }));
    counted.rulesFor({ name: "nobody", groups: [] }, "ns1");
    expect(asked).toEqual(["", "", "ns1"]);
  });

  it("converts its list of permissions back into rules", () => {
    const rules = readPolicyRules([
      { verbs: ["get"], apiGroups: [""], resources: ["pods"], resourceNames: ["a"] },
      { verbs: ["get"], nonResourceURLs: ["/x"] },
    ]);
    expect(policyRulesOf({ ...resolveRules(rules), incomplete: false })).toEqual(rules);
    const unnamed = { verbs: ["get"], apiGroups: [""], resources: ["pods"] };
    expect(policyRulesOf({ resourceRules: [unnamed], nonResourceRules: [], incomplete: false })).toEqual(
      readPolicyRules([unnamed]),
    );
  });
});

describe("RbacIndex", () => {
  it("forgets the grants of a binding that is changed or removed, and counts each change", () => {
    const index = new RbacIndex();
    const binding = (names: string[]) =>
      readBinding({
        apiVersion: "v1",
        kind: "ClusterRoleBinding",
        metadata: { name: "b" },
        subjects: names.map((name) => ({ kind: "User", name })),
        roleRef: roleRef("ClusterRole", "r"),
      });
    index.setBinding(binding(["a", "b"]));
    const before = index.version;
    index.setBinding(binding(["b", "c"]));
    expect(index.version).toBeGreaterThan(before);
    expect(["a", "b", "c"].map((name) => index.grantsToUser("", name).length)).toEqual([0, 1, 1]);
    index.removeBinding("", "b");
    expect(["a", "b", "c"].map((name) => index.grantsToUser("", name).length)).toEqual([0, 0, 0]);
    const settled = index.version;
    index.removeBinding("", "b");
    expect(index.version).toBe(settled);
  });
});

it("shows the rules of a role without making them again", () => {
  const rule = { verbs: ["get"], apiGroups: [""], resources: ["pods"], resourceNames: [], nonResourceURLs: [] };
  const named = { ...rule, resourceNames: ["a"] };
  const paths = { ...rule, resources: [], nonResourceURLs: ["/healthz"] };
  const role = new RuleIndex([rule, named, paths]);
  const other = new RuleIndex([rule]);
  const [first, second] = [1, 2].map(() => joinRules([role.resolved, other.resolved]));
  expect(first).toEqual({
    resourceRules: [
      { verbs: ["get"], apiGroups: [""], resources: ["pods"] },
      { verbs: ["get"], apiGroups: [""], resources: ["pods"], resourceNames: ["a"] },
      { verbs: ["get"], apiGroups: [""], resources: ["pods"] },
    ],
    nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/healthz"] }],
  });
  for (const [index, each] of first!.resourceRules.entries()) expect(second!.resourceRules[index]).toBe(each);
});
