// Parameters of the resource suite for the resources of the platform. A new resource needs its line in RESOURCE_CASES.

import { generateKeyPairSync, randomBytes } from "node:crypto";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { createSuiteClient } from "@postern/apiserver/registry/testing/suite-client";
import { describeResource, type ResourceSuiteOptions } from "@postern/kubernetes/testing/resource-suite";
import type { ManagementSuiteSurface } from "../../testing/management-suite-surface.ts";

type Case = Omit<ResourceSuiteOptions, "open" | "setup"> & {
  readonly setup?: (surface: ManagementSuiteSurface) => Promise<void>;
};

const named =
  (rest: JsonObject = {}) =>
  (name: string) => ({ metadata: { name }, ...rest });

const RBAC = "rbac.authorization.k8s.io";
const readers = [{ verbs: ["get"], apiGroups: [""], resources: ["secrets"] }];
const writers = [{ verbs: ["update"], apiGroups: [""], resources: ["secrets"] }];
const subjectOf = (name: string) => ({ subjects: [{ apiGroup: RBAC, kind: "User", name }] });
const toView = { roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "view" } };

/** Creates an object of another resource, which must be valid. */
async function seed(
  { route, definitions }: ManagementSuiteSurface,
  plural: string,
  name: string,
  rest: JsonObject = {},
): Promise<void> {
  const definition = definitions.find((each) => each.plural === plural);
  if (definition === undefined) throw new Error(`${plural} is not registered`);
  const { group, version, kind } = definition;
  const object = { apiVersion: group === "" ? version : `${group}/${version}`, kind, metadata: { name }, ...rest };
  const { status, json } = await createSuiteClient(route, definition, "default").send("POST", "", object);
  if (status !== 201) throw new Error(`${plural}: ${json.message}`);
}

const withNamespace: Case["setup"] = (surface) => seed(surface, "namespaces", "default");
const withRole: Case["setup"] = async (surface) => {
  await seed(surface, "namespaces", "default");
  await seed(surface, "clusterroles", "view", { rules: readers });
};
const withJane: Case["setup"] = async (surface) => {
  // Where the events of keys go.
  await seed(surface, "namespaces", "default");
  await seed(surface, "users", "jane");
};
const withProject: Case["setup"] = async (surface) => {
  await seed(surface, "clusters", "embedded", { spec: { local: true } });
  await seed(surface, "projects", "default", { spec: { allowedClusters: [{ name: "*" }] } });
};

/** Nothing is fetched for it. */
const jwks = JSON.stringify({
  keys: [{ ...generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" }), kid: "a" }],
});
const trust = { issuer: { url: "https://issuer.test", jwks }, audiences: ["platform"], user: "jane" };

const access = { requesters: { users: ["jane"] }, maxDurationSeconds: 600 };

/** A deleted object stays as long as `reason` says. */
const staysWhile = (reason: string): NonNullable<Case["skip"]> => ({
  "answers a deletion with the uid of what is gone": reason,
  "sends a watch one event for a creation, a change and a deletion": reason,
});

export const RESOURCE_CASES: { readonly [plural: string]: Case } = {
  ownedaccesskeys: {
    valid: named({ spec: { user: "jane" } }),
    change: { spec: { description: "changed" } },
    setup: withJane,
    skip: {
      "shows what was created, and 404 for what was not": "the answer to its creation alone has the key",
      "takes a write that changes nothing for none": "the answer to its creation alone has the key; accesskeys run it",
      "keeps nothing of a dry run": "the answer to its creation alone has the key; accesskeys run it",
    },
  },
  accesskeys: {
    valid: (name) => ({
      metadata: { name },
      spec: { user: "jane", key: randomBytes(32).toString("base64url") },
    }),
    change: { spec: { description: "changed" } },
    setup: withJane,
    skip: {
      "is created by an apply, and left alone by the same apply again":
        "each object that the case makes has a value of its own; ownedaccesskeys run it",
    },
  },
  users: { valid: named({ spec: { email: "a@example.com" } }), change: { spec: { displayName: "changed" } } },
  teams: { valid: named({ spec: { users: ["jane"] } }), change: { spec: { displayName: "changed" } } },
  projects: {
    valid: named({ spec: { allowedClusters: [{ name: "*" }] } }),
    change: { spec: { displayName: "changed" } },
    skip: staysWhile("its controller removes its namespace first"),
  },
  clusters: { valid: named({ spec: { local: true } }), change: { spec: { displayName: "changed" } } },
  virtualclusterinstances: {
    valid: named({ spec: { clusterRef: { cluster: "embedded" } } }),
    change: { spec: { displayName: "changed" } },
    namespace: "p-default",
    setup: withProject,
    skip: staysWhile("its controller removes what lives in it first"),
  },
  virtualclustertemplates: {
    valid: named({ spec: { parameters: [{ variable: "team" }] } }),
    change: { spec: { displayName: "changed" } },
  },
  spaceinstances: {
    valid: named({ spec: { clusterRef: { cluster: "embedded" } } }),
    change: { spec: { displayName: "changed" } },
    namespace: "p-default",
    setup: withProject,
    skip: staysWhile("its controller removes what lives in it first"),
  },
  projectsecrets: {
    valid: named({ spec: { data: { a: "MQ==" } } }),
    change: { spec: { data: { a: "Mg==" } } },
    setup: withNamespace,
  },
  sharedsecrets: {
    valid: named({ spec: { data: { a: "MQ==" } } }),
    change: { spec: { data: { a: "Mg==" } } },
    setup: withNamespace,
  },
  clustertrustrules: {
    valid: named({ spec: { ...trust, scope: { projects: [{ project: "default" }] } } }),
    change: { spec: { description: "changed" } },
    setup: withJane,
  },
  trustrules: {
    valid: named({ spec: trust }),
    change: { spec: { description: "changed" } },
    namespace: "p-default",
    setup: async (surface) => {
      await withProject(surface);
      await seed(surface, "users", "jane");
    },
  },
  clusteraccesspolicies: {
    valid: named({ spec: { ...access, targets: [{ kind: "Project", projects: ["*"], roles: ["view"] }] } }),
    change: { spec: { description: "changed" } },
    setup: withRole,
  },
  accesspolicies: {
    valid: named({ spec: { ...access, targets: [{ kind: "Project", roles: ["view"] }] } }),
    change: { spec: { description: "changed" } },
    namespace: "p-default",
    setup: async (surface) => {
      await withProject(surface);
      await seed(surface, "clusterroles", "view", { rules: readers });
    },
  },
  accessrequests: {
    valid: named({ spec: { policy: { name: "x" }, target: { project: "default" }, role: "view" } }),
    change: { metadata: { labels: { a: "b" } } },
    // Where their events go.
    setup: withNamespace,
    skip: {
      "changes by merge patch, and counts generations of what is wanted": "what is asked for cannot be changed",
    },
  },
  kubeconfiggenerators: {
    valid: named({ spec: { selector: {}, secretRef: { name: "fleet" } } }),
    change: { spec: { description: "changed" } },
    namespace: "p-default",
    setup: withProject,
  },
  identityproviders: {
    valid: named({
      spec: {
        issuer: { url: "https://issuer.test" },
        clientId: "postern",
        claimMappings: { username: { claim: "sub" } },
      },
    }),
    change: { spec: { description: "changed" } },
  },
  namespaces: {
    valid: named(),
    change: { metadata: { labels: { a: "b" } } },
    skip: {
      ...staysWhile("its controller empties it first"),
      "keeps an object with finalizers until the last one is removed": "its spec holds it too",
    },
  },
  secrets: {
    valid: named({ data: { a: "MQ==" }, type: "Opaque" }),
    change: { data: { a: "Mg==" } },
    setup: withNamespace,
  },
  events: {
    valid: named({ involvedObject: { kind: "Secret", namespace: "default", name: "x" }, reason: "Tested" }),
    change: { message: "again" },
    setup: withNamespace,
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
    setup: withNamespace,
  },
  leases: {
    valid: named({ spec: { holderIdentity: "a" } }),
    change: { spec: { holderIdentity: "b" } },
    setup: withNamespace,
  },
  roles: { valid: named({ rules: readers }), change: { rules: writers }, setup: withNamespace },
  clusterroles: { valid: named({ rules: readers }), change: { rules: writers } },
  rolebindings: { valid: named({ ...toView, ...subjectOf("a") }), change: subjectOf("b"), setup: withRole },
  clusterrolebindings: { valid: named({ ...toView, ...subjectOf("a") }), change: subjectOf("b"), setup: withRole },
};

/** Under its plural, with the group where two groups have one of that name. */
export const caseOf = ({ group, plural }: { readonly group: string; readonly plural: string }): string =>
  group === "events.k8s.io" ? `${plural}.${group}` : plural;

/** Runs the suite on each resource that is stored; `open` gives a surface with nothing in it. */
export function describeResources(
  definitions: ManagementSuiteSurface["definitions"],
  open: () => Promise<ManagementSuiteSurface>,
): void {
  for (const definition of definitions) {
    const options = RESOURCE_CASES[caseOf(definition)];
    if (definition.submit !== undefined || options === undefined) continue;
    const { setup, ...rest } = options;
    let surface: ManagementSuiteSurface;
    describeResource(definition, {
      ...rest,
      open: async () => {
        surface = await open();
        return surface;
      },
      // It follows the opening of the surface of its case.
      ...(setup === undefined ? {} : { setup: () => setup(surface) }),
    });
  }
}
