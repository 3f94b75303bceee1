// Runs the suite of every resource on what the platform registers. A new resource needs its line in CASES.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { describeResource, type ResourceSuiteOptions } from "@postern/apiserver/registry/testing/resource-suite";
import { createSuiteClient } from "@postern/apiserver/registry/testing/suite-client";
import type { SuiteSurface } from "@postern/apiserver/registry/testing/suite-surface";
import { afterAll, describe, expect, it } from "vitest";
import { openManagementSuiteSurface } from "../testing/management-suite-surface.ts";

/** Only what is registered is looked at here: each case opens its own. */
const registered = await openManagementSuiteSurface();
afterAll(() => registered[Symbol.asyncDispose]());

type Case = Omit<ResourceSuiteOptions, "open">;

const named =
  (rest: JsonObject = {}) =>
  (name: string) => ({ metadata: { name }, ...rest });

const GROUP = "management.postern";
const RBAC = "rbac.authorization.k8s.io";
const readers = [{ verbs: ["get"], apiGroups: [""], resources: ["secrets"] }];
const writers = [{ verbs: ["update"], apiGroups: [""], resources: ["secrets"] }];
const subjectOf = (name: string) => ({ subjects: [{ apiGroup: RBAC, kind: "User", name }] });
const toView = { roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "view" } };

/** Creates an object of another resource, which must be valid. */
async function seed(surface: SuiteSurface, plural: string, name: string, rest: JsonObject = {}): Promise<void> {
  const definition = registered.definitions.find((each) => each.plural === plural);
  if (definition === undefined) throw new Error(`${plural} is not registered`);
  const { group, version, kind } = definition;
  const object = { apiVersion: group === "" ? version : `${group}/${version}`, kind, metadata: { name }, ...rest };
  const { status, json } = await createSuiteClient(surface.route, definition, "default").send("POST", "", object);
  if (status !== 201) throw new Error(`${plural}: ${json.message}`);
}

const withNamespace: Case["setup"] = (_client, surface) => seed(surface, "namespaces", "default");
const withRole: Case["setup"] = async (_client, surface) => {
  await seed(surface, "namespaces", "default");
  await seed(surface, "clusterroles", "view", { rules: readers });
};
const withJane: Case["setup"] = async (_client, surface) => {
  // Where the events of keys go.
  await seed(surface, "namespaces", "default");
  await seed(surface, "users", "jane");
};
const withProject: Case["setup"] = async (_client, surface) => {
  await seed(surface, "clusters", "embedded", { spec: { local: true } });
  await seed(surface, "projects", "default", { spec: { allowedClusters: [{ name: "*" }] } });
  await seed(surface, "namespaces", "p-default");
};

/** What is deleted stays as long as `reason` says. */
const staysWhile = (reason: string): NonNullable<Case["skip"]> => ({
  "answers a deletion with the uid of what is gone": reason,
  "tells a watch of a creation, a change and a deletion, each once": reason,
});

const CASES: { readonly [plural: string]: Case } = {
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
    valid: (name) => ({ metadata: { name }, spec: { user: "jane", key: name.padEnd(40, "0123456789") } }),
    change: { spec: { description: "changed" } },
    setup: withJane,
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
  spaceinstances: {
    valid: named({ spec: { clusterRef: { cluster: "embedded" } } }),
    change: { spec: { displayName: "changed" } },
    namespace: "p-default",
    setup: withProject,
    skip: staysWhile("its controller removes what lives in it first"),
  },
  namespaces: {
    valid: named(),
    change: { metadata: { labels: { a: "b" } } },
    skip: {
      ...staysWhile("its controller empties it first"),
      "keeps what finalizers hold until the last of them goes": "its spec holds it too",
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

/** They are answered at once: there is nothing to read or to change. */
const ANSWERED = [
  `selves.${GROUP}`,
  `selfsubjectaccessreviews.${GROUP}`,
  "localsubjectaccessreviews.authorization.k8s.io",
  "selfsubjectaccessreviews.authorization.k8s.io",
  "selfsubjectreviews.authentication.k8s.io",
  "selfsubjectrulesreviews.authorization.k8s.io",
  "subjectaccessreviews.authorization.k8s.io",
  "tokenreviews.authentication.k8s.io",
];

describe("what the platform registers", () => {
  const nameOf = ({ group, plural }: { readonly group: string; readonly plural: string }) => `${plural}.${group}`;
  const answered = registered.definitions.filter(({ submit }) => submit !== undefined);

  it("is answered without being stored here alone", () => {
    expect(answered.map(nameOf).toSorted()).toEqual(ANSWERED.toSorted());
  });

  it("has a case for each resource that is stored, and none for another", () => {
    const stored = registered.definitions.filter((definition) => !answered.includes(definition));
    expect(Object.keys(CASES).toSorted()).toEqual(stored.map(({ plural }) => plural).toSorted());
  });

  it("has names that mean one resource each, short ones among them", () => {
    // What kubectl takes for a resource, without its group.
    const names = registered.definitions.flatMap(({ plural, singular, shortNames = [] }) => [
      ...new Set([plural, singular, ...shortNames]),
    ]);
    const ambiguous = names.filter((name, index) => names.indexOf(name) !== index);
    // Served in both groups, as existing clients expect; kubectl takes the first.
    expect(ambiguous).toEqual(["selfsubjectaccessreviews", "selfsubjectaccessreview"]);
    const short = registered.definitions.flatMap(({ plural, shortNames = [] }) =>
      shortNames.map((name) => `${name} ${plural}`),
    );
    expect(short.toSorted()).toEqual([
      "ak accesskeys",
      "ev events",
      "ns namespaces",
      "oak ownedaccesskeys",
      "proj projects",
      "spi spaceinstances",
      "vci virtualclusterinstances",
    ]);
  });

  it("describes every field, and every request of its subresources", () => {
    const fields = registered.definitions.flatMap(({ kind, schema, subresources = [] }) => [
      ...undescribed(schema, kind),
      ...subresources.flatMap((each) => (each.schema === undefined ? [] : undescribed(each.schema, each.kind.kind))),
    ]);
    expect(fields).toEqual([]);
  });
});

/** The paths of what `kubectl explain` would print nothing for. */
function undescribed(schema: StructuralSchema, path: string): readonly string[] {
  const { description = "", properties = {}, items, additionalProperties } = schema;
  const below = [
    ...Object.entries(properties).map(([name, member]) => [member, `${path}.${name}`] as const),
    ...Object.entries(items?.properties ?? {}).map(([name, member]) => [member, `${path}[].${name}`] as const),
    ...(typeof additionalProperties === "object"
      ? Object.entries(additionalProperties.properties ?? {}).map(
          ([name, member]) => [member, `${path}.*.${name}`] as const,
        )
      : []),
  ];
  return [...(description === "" ? [path] : []), ...below.flatMap(([member, name]) => undescribed(member, name))];
}

for (const definition of registered.definitions) {
  const options = CASES[definition.plural];
  if (definition.submit !== undefined || options === undefined) continue;
  describeResource(definition, { ...options, open: openManagementSuiteSurface });
}
