import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AuthorizationAttributes } from "../authorizer.ts";
import type { PolicyRule } from "./policy-rule.ts";
import { createRbacAuthorizer, policyRulesOf } from "./rbac-authorizer.ts";
import { RbacIndex } from "./rbac-index.ts";
import type { RbacBinding } from "./role-binding.ts";
import { uncoveredRules } from "./rule-coverage.ts";
import { firstApplicableSubject, ruleAllows } from "./testing/rule-oracle.ts";

const some = (values: readonly string[]) => fc.subarray([...values], { minLength: 0, maxLength: 2 });
const rule: fc.Arbitrary<PolicyRule> = fc.record({
  verbs: some(["get", "list", "*"]),
  apiGroups: some(["", "apps", "*"]),
  resources: some(["pods", "pods/status", "*/status", "*", "jobs"]),
  resourceNames: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, some(["a", "b", "*"])),
  nonResourceURLs: some(["/x", "/x/*", "*", "/x*y"]),
});
const user = fc.record({
  name: fc.constantFrom("u1", "u2", "system:serviceaccount:ns1:sa"),
  groups: some(["g1", "g2", "u1"]),
});
const request: fc.Arbitrary<AuthorizationAttributes> = fc.record({
  user,
  verb: fc.constantFrom("get", "list", "create"),
  isResourceRequest: fc.boolean(),
  apiGroup: fc.constantFrom("", "apps"),
  apiVersion: fc.constant("v1"),
  resource: fc.constantFrom("pods", "jobs", "*"),
  subresource: fc.constantFrom("", "status"),
  namespace: fc.constantFrom("", "ns1", "ns2"),
  name: fc.constantFrom("", "a", "b"),
  path: fc.constantFrom("/x", "/x/y", "/y", "/x*y"),
});
const binding: fc.Arbitrary<RbacBinding> = fc.record({
  name: fc.constantFrom("b1", "b2", "b3"),
  namespace: fc.constantFrom("", "ns1", "ns2"),
  subjects: fc.array(
    fc.record({
      kind: fc.constantFrom("User", "Group", "ServiceAccount", "Other"),
      name: fc.constantFrom("u1", "u2", "g1", "sa"),
      namespace: fc.constantFrom("", "ns1"),
    }),
    { maxLength: 3 },
  ),
  roleRef: fc.record({
    apiGroup: fc.constant(""),
    kind: fc.constantFrom("Role", "ClusterRole"),
    name: fc.constantFrom("r1", "r2"),
  }),
});

describe("RBAC", () => {
  it("covers a grant only with rules that allow everything in the grant", () => {
    fc.assert(
      fc.property(
        fc.array(rule, { maxLength: 3 }),
        fc.array(rule, { maxLength: 2 }),
        request,
        (held, wanted, asked) => {
          fc.pre(uncoveredRules(held, wanted).length === 0 && wanted.some((given) => ruleAllows(given, asked)));
          expect(held.some((own) => ruleAllows(own, asked))).toBe(true);
        },
      ),
      { numRuns: 300, maxSkipsPerRun: 10_000 },
    );
  });

  it("finds by its index what a look at every binding finds, whatever has been changed and removed", () => {
    const change = fc.oneof(
      fc.record({ type: fc.constant("set" as const), binding }),
      fc.record({ type: fc.constant("remove" as const), binding }),
    );
    const role = fc.record({
      namespace: fc.constantFrom("", "ns1"),
      name: fc.constantFrom("r1", "r2"),
      rules: fc.array(rule, { maxLength: 2 }),
    });
    fc.assert(
      fc.property(
        fc.array(change, { maxLength: 8 }),
        fc.array(role, { maxLength: 4 }),
        request,
        (changes, roles, asked) => {
          const index = new RbacIndex();
          const bindings = new Map<string, RbacBinding>();
          const rules = new Map<string, readonly PolicyRule[]>();
          for (const given of roles) {
            index.setRole(given.namespace, given.name, given.rules);
            rules.set(`${given.namespace}/${given.name}`, given.rules);
          }
          for (const { type, binding: changed } of changes) {
            const key = `${changed.namespace}/${changed.name}`;
            if (type === "set") index.setBinding(changed);
            else index.removeBinding(changed.namespace, changed.name);
            if (type === "set") bindings.set(key, changed);
            else bindings.delete(key);
          }
          const opened = [...bindings.values()]
            .filter(({ namespace }) => namespace === "" || namespace === asked.namespace)
            .filter(({ subjects, namespace }) => firstApplicableSubject(asked.user, subjects, namespace) >= 0)
            .filter(({ roleRef, namespace }) => roleRef.kind === "ClusterRole" || namespace !== "")
            .flatMap(
              ({ roleRef: { kind, name }, namespace }) =>
                rules.get(`${kind === "ClusterRole" ? "" : namespace}/${name}`) ?? [],
            );
          const expected = opened.some((given) => ruleAllows(given, asked));
          const authorizer = createRbacAuthorizer({ source: index });
          expect(authorizer.authorize(asked).verdict === "allow").toBe(expected);
          const told = policyRulesOf(authorizer.rulesFor(asked.user, asked.namespace));
          expect(told.some((given) => ruleAllows(given, asked))).toBe(expected);
        },
      ),
      { numRuns: 500 },
    );
  });
});
