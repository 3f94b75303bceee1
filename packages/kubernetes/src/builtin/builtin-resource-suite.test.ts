// Runs the suite of every resource on the built-in kinds.

import { readFileSync } from "node:fs";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { NO_OPINION } from "@postern/apiserver/authorization/authorizer";
import { describe, expect, it } from "vitest";
import { noCustomResourceDefinitions } from "../custom-resources/no-custom-resource-definitions.ts";
import { describeResource, type ResourceSuiteOptions } from "../testing/resource-suite.ts";
import { openSuiteSurface } from "../testing/suite-surface.ts";
import { builtinResources } from "./builtin-resources.ts";

/** Only what they are made of is looked at here: the surface under test makes its own. */
const definitions = builtinResources({
  customResourceDefinitions: noCustomResourceDefinitions,
  authorizer: { authorize: () => NO_OPINION },
  ruleResolver: { rulesFor: () => ({ resourceRules: [], nonResourceRules: [], incomplete: false }) },
  rbacSource: { rulesOf: () => undefined },
  tokens: { authenticateToken: () => undefined },
  audiences: [],
});

const named =
  (rest: JsonObject = {}) =>
  (name: string) => ({ metadata: { name }, ...rest });
const readers = [{ verbs: ["get"], apiGroups: [""], resources: ["configmaps"] }];
const writers = [{ verbs: ["update"], apiGroups: [""], resources: ["configmaps"] }];
const RBAC = "rbac.authorization.k8s.io";
const subjectOf = (name: string) => ({ subjects: [{ apiGroup: RBAC, kind: "User", name }] });
const toView = { roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "view" } };
const request = readFileSync(new URL("./certificates/testdata/alice.csr", import.meta.url)).toString("base64");
const signed = { request, signerName: "kubernetes.io/kube-apiserver-client", usages: ["client auth"] };

const CASES: { readonly [plural: string]: Omit<ResourceSuiteOptions, "open"> } = {
  namespaces: {
    valid: named(),
    change: { metadata: { labels: { a: "b" } } },
    skip: {
      "answers a deletion with the uid of what is gone": "a namespace is emptied first",
      "keeps an object with finalizers until the last one is removed": "its spec holds it too",
      "sends a watch one event for a creation, a change and a deletion": "its phase changes on the way",
      "keeps nothing of a dry run": "it is shown as terminating",
    },
  },
  configmaps: { valid: named({ data: { a: "1" } }), change: { data: { a: "2" } } },
  secrets: { valid: named({ data: { a: "MQ==" }, type: "Opaque" }), change: { data: { a: "Mg==" } } },
  serviceaccounts: { valid: named(), change: { automountServiceAccountToken: false } },
  events: {
    valid: named({ involvedObject: { kind: "ConfigMap", namespace: "default", name: "x" }, reason: "Tested" }),
    change: { message: "again" },
  },
  "events.events.k8s.io": {
    valid: named({
      eventTime: "2026-01-01T00:00:00.000000Z",
      regarding: { kind: "Secret", namespace: "default", name: "x" },
      reportingController: "example.com/tester",
      reportingInstance: "tester-1",
      action: "Testing",
      reason: "Tested",
      type: "Normal",
    }),
    // All that may change of it.
    change: { series: { count: 2, lastObservedTime: "2026-01-01T00:00:01.000000Z" } },
  },
  leases: { valid: named({ spec: { holderIdentity: "a" } }), change: { spec: { holderIdentity: "b" } } },
  roles: { valid: named({ rules: readers }), change: { rules: writers } },
  clusterroles: { valid: named({ rules: readers }), change: { rules: writers } },
  rolebindings: { valid: named({ ...toView, ...subjectOf("a") }), change: subjectOf("b") },
  clusterrolebindings: { valid: named({ ...toView, ...subjectOf("a") }), change: subjectOf("b") },
  certificatesigningrequests: {
    valid: named({ spec: signed }),
    // The content to be signed never changes.
    change: { metadata: { labels: { a: "b" } } },
    changesGeneration: false,
  },
};

/** Two groups have Events. */
const caseOf = ({ group, plural }: { readonly group: string; readonly plural: string }): string =>
  group === "events.k8s.io" ? `${plural}.${group}` : plural;

describe("the built-in kinds", () => {
  it("have a case for each that is stored", () => {
    // Reviews are answered, not stored.
    const stored = definitions
      .filter(({ submit, verbs }) => submit === undefined && verbs?.includes("create") !== false)
      .map(caseOf);
    expect(Object.keys(CASES).toSorted()).toEqual(stored.toSorted());
  });
});

for (const definition of definitions) {
  const options = CASES[caseOf(definition)];
  if (options !== undefined) describeResource(definition, { ...options, open: () => openSuiteSurface() });
}
