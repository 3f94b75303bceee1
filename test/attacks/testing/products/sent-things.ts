// Everything that a tenant or a bystander can send at a size, and that may meet what is stored (see products.test.ts).

import type { HttpRequest } from "../../../e2e/testing/http-client.ts";
import { keyed, SERVICES } from "./applied-things.ts";
import { DEPLOYMENTS, GROUPS } from "./served-things.ts";
import { DEFAULT, hostGroup, ITEMS, members, range, SPACES, SUBJECT } from "./stored-thing.ts";
import { workloadToken } from "./workload-tokens.ts";

export type SentThing = {
  readonly name: string;
  /**
   * `bystander`: a user without a role in the project. `directory`: a key that provisions over SCIM. `front proxy`: another kube-apiserver, for a user of
   * its cluster.
   */
  readonly by: "tenant" | "bystander" | "directory" | "front proxy";
  /** Doubled, together with what is stored. */
  readonly base: number;
  /** A path that begins with a slash is one of the management API. */
  readonly path: (size: number) => string;
  readonly request?: (size: number) => HttpRequest;
  /** For a key of the tenant that is narrowed to this. */
  readonly narrowedTo?: (size: number) => object;
};

/** Of which rules of the project name others. */
const NO_SECRET = "/api/v1/namespaces/p-tenant/secrets/none";
const TABLE = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
const asSomebody = (groups: number): NonNullable<HttpRequest["headers"]> => ({
  "impersonate-user": SUBJECT,
  "impersonate-group": range(groups).map((index) => `g${index}`),
});

export const SENT_THINGS: readonly SentThing[] = [
  {
    name: "a GET by a user with groups",
    by: "tenant",
    base: 20,
    path: () => `${DEFAULT}/configmaps/kube-root-ca.crt`,
    request: (size) => ({ headers: asSomebody(size) }),
  },
  {
    name: "a GET by a user of another cluster with groups",
    by: "front proxy",
    base: 200,
    path: () => NO_SECRET,
    request: (size) => ({ headers: { "x-remote-user": SUBJECT, "x-remote-group": range(size).map(hostGroup) } }),
  },
  {
    name: "a GET by a user of another cluster with attributes",
    by: "front proxy",
    base: 200,
    path: () => NO_SECRET,
    request: (size) => ({
      headers: {
        "x-remote-user": SUBJECT,
        ...Object.fromEntries(range(size).map((index) => [`x-remote-extra-k${index}`, range(3).map((at) => `v${at}`)])),
      },
    }),
  },
  {
    name: "a list with a selector",
    by: "tenant",
    base: 20,
    path: (size) =>
      `${DEFAULT}/configmaps?labelSelector=${range(size)
        .map((index) => `k${index}!=x`)
        .join(",")}`,
  },
  {
    name: "a Table of ConfigMaps",
    by: "tenant",
    base: 1,
    path: () => `${DEFAULT}/configmaps`,
    request: () => ({ headers: TABLE }),
  },
  {
    name: "a Table of custom resources",
    by: "tenant",
    base: 1,
    path: () => ITEMS,
    request: () => ({ headers: TABLE }),
  },
  {
    name: "Table watches of custom resources",
    by: "tenant",
    base: 1,
    path: () => `${ITEMS}?watch=1&timeoutSeconds=1&resourceVersion=0`,
    request: () => ({ headers: TABLE }),
  },
  {
    name: "metadata watches of ConfigMaps",
    by: "tenant",
    base: 1,
    path: () => `${DEFAULT}/configmaps?watch=1&timeoutSeconds=1&resourceVersion=0`,
    request: () => ({ headers: { accept: TABLE.accept.replace("Table", "PartialObjectMetadata") } }),
  },
  {
    name: "a list form on a watch",
    by: "tenant",
    base: 1,
    path: () => `${DEFAULT}/configmaps?watch=1&timeoutSeconds=1&resourceVersion=0`,
    request: () => ({ headers: { accept: TABLE.accept.replace("Table", "PartialObjectMetadataList") } }),
  },
  {
    name: "a create with labels",
    by: "tenant",
    base: 50,
    path: () => `${DEFAULT}/configmaps?dryRun=All`,
    request: (size) => ({ body: { metadata: { name: "new", labels: members(size, "v") } } }),
  },
  {
    name: "an apply of keys",
    by: "tenant",
    base: 200,
    path: () => `${DEFAULT}/configmaps/applied?dryRun=All&fieldManager=a&force=true`,
    request: (size) => ({
      method: "PATCH",
      headers: { "content-type": "application/apply-patch+yaml" },
      body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "applied" }, data: members(size, "v") },
    }),
  },
  {
    name: "a Pod with containers",
    by: "tenant",
    base: 10,
    path: () => `${DEFAULT}/pods?dryRun=All`,
    request: (size) => ({
      body: {
        metadata: { name: "new" },
        spec: { containers: range(size).map((index) => ({ name: `c${index}`, image: "example.com/image" })) },
      },
    }),
  },
  {
    name: "a review of rules",
    by: "tenant",
    base: 20,
    path: () => "apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
    request: (size) => ({ headers: asSomebody(size), body: { spec: { namespace: "default" } } }),
  },
  {
    name: "a Role of someone with few rights",
    by: "tenant",
    base: 50,
    path: () => "apis/rbac.authorization.k8s.io/v1/namespaces/default/roles?dryRun=All",
    request: (size) => ({
      headers: asSomebody(1),
      body: {
        metadata: { name: "new" },
        rules: range(size).map((index) => ({ verbs: ["get"], apiGroups: ["a.example"], resources: [`r${index}`] })),
      },
    }),
  },
  {
    name: "OpenAPI v2 in protobuf",
    by: "tenant",
    base: 1,
    path: () => "openapi/v2",
    request: () => ({ headers: { accept: "application/com.github.proto-openapi.spec.v2@v1.0+protobuf" } }),
  },
  { name: "the index of OpenAPI v3", by: "tenant", base: 1, path: () => "openapi/v3" },
  {
    name: "discovery",
    by: "tenant",
    base: 1,
    path: () => "apis",
    request: () => ({
      headers: { accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" },
    }),
  },
  { name: "legacy discovery", by: "tenant", base: 1, path: () => "apis" },
  {
    name: "discovery in YAML",
    by: "tenant",
    base: 1,
    path: () => "apis",
    request: () => ({
      headers: { accept: "application/yaml;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" },
    }),
  },
  { name: "projects", by: "bystander", base: 1, path: () => "/apis/management.postern/v1/projects" },
  { name: "keys", by: "tenant", base: 1, path: () => "/apis/management.postern/v1/ownedaccesskeys" },
  {
    name: "a Secret of the project",
    by: "tenant",
    base: 1,
    path: () => "/api/v1/namespaces/p-tenant/secrets/absent",
  },
  {
    name: "a list by a key with virtual clusters in its scope",
    by: "tenant",
    base: 200,
    path: () => SPACES,
    narrowedTo: (size) => ({
      scope: { virtualClusters: range(size).map((index) => ({ project: "tenant", virtualCluster: `v${index}` })) },
    }),
  },
  {
    name: "a list by a key with roles in its scope",
    by: "tenant",
    base: 200,
    path: () => SPACES,
    narrowedTo: (size) => ({
      scope: { roles: range(size).map((index) => ({ role: "platform-cli", virtualClusters: [`v${index}`] })) },
    }),
  },
  {
    name: "a list by a key with rules",
    by: "tenant",
    base: 75,
    path: () => SPACES,
    narrowedTo: (size) => ({
      rules: [
        { verbs: ["list"] },
        ...range(size).map((index) => ({
          resources: [{ group: "management.postern", resources: ["spaceinstances"], resourceNames: [`v${index}`] }],
        })),
      ],
    }),
  },
  {
    name: "a list with field selectors",
    by: "tenant",
    base: 100,
    path: (size) =>
      `${DEFAULT}/configmaps?fieldSelector=${range(size)
        .map((index) => `metadata.name!=x${index}`)
        .join(",")}`,
  },
  {
    name: "an object with finalizers",
    by: "tenant",
    base: 200,
    path: () => `${DEFAULT}/configmaps?dryRun=All`,
    request: (size) => ({
      body: { metadata: { name: "new", finalizers: range(size).map((index) => `products.example/f${index}`) } },
    }),
  },
  {
    name: "an object with owners",
    by: "tenant",
    base: 50,
    path: () => `${DEFAULT}/configmaps?dryRun=All`,
    request: (size) => ({
      body: {
        metadata: {
          name: "new",
          ownerReferences: range(size).map((index) => ({
            apiVersion: "v1",
            kind: "ConfigMap",
            name: `owner-${index}`,
            uid: `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
          })),
        },
      },
    }),
  },
  {
    name: "an apply of keyed items",
    by: "tenant",
    base: 100,
    path: () => `${SERVICES}/managed?dryRun=All&fieldManager=another&force=true`,
    request: (size) => ({
      method: "PATCH",
      headers: { "content-type": "application/apply-patch+yaml" },
      body: keyed(size),
    }),
  },
  {
    name: "a strategic merge of keyed items",
    by: "tenant",
    base: 100,
    path: () => `${SERVICES}/managed?dryRun=All`,
    request: (size) => ({
      method: "PATCH",
      headers: { "content-type": "application/strategic-merge-patch+json" },
      body: keyed(size),
    }),
  },
  {
    name: "custom resources in another version",
    by: "tenant",
    base: 1,
    path: () => ITEMS.replace("/v1/", "/v2/"),
  },
  {
    name: "a token of a workload for a project",
    by: "tenant",
    base: 100,
    path: () => "/oauth/token",
    request: (size) => ({
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({
        grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
        subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
        subject_token: workloadToken({ ...members(50, "v"), groups: range(size).map((index) => `g${index}`) }),
        audience: "tenant/*",
      }).toString(),
    }),
  },
  {
    name: "a kubeconfig of an instance",
    by: "tenant",
    base: 1,
    path: () => "/apis/management.postern/v1/namespaces/p-tenant/virtualclusterinstances/theirs/kubeconfig",
    request: () => ({ body: { spec: {} } }),
  },
  {
    name: "the explanation of a key",
    by: "tenant",
    base: 1,
    path: () => "/apis/management.postern/v1/ownedaccesskeys/mallory/explain",
    request: () => ({ body: { spec: { method: "GET", path: SPACES } } }),
  },
  {
    name: "the credentials of a key",
    by: "tenant",
    base: 1,
    path: () => "/apis/management.postern/v1/ownedaccesskeys/mallory/credentials",
  },
  {
    name: "a review of rules in the project",
    by: "tenant",
    base: 1,
    path: () => "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
    request: () => ({ body: { spec: { namespace: "p-tenant" } } }),
  },
  {
    name: "a status of a workload",
    by: "tenant",
    base: 50,
    path: () => `${DEPLOYMENTS}/d0/status?dryRun=All`,
    request: (size) => ({
      method: "PATCH",
      headers: { "content-type": "application/merge-patch+json" },
      body: { status: { conditions: range(size).map((index) => ({ type: `t${index}`, status: "True" })) } },
    }),
  },
  {
    name: "groups of a directory",
    by: "directory",
    base: 50,
    path: (size) => `${GROUPS}?count=${size}`,
  },
  {
    name: "members of a group",
    by: "directory",
    base: 50,
    path: () => `${GROUPS}/group-150-0`,
    request: (size) => ({
      method: "PATCH",
      body: {
        Operations: range(Math.min(size, 100)).map((index) => ({
          op: index % 2 === 0 ? "remove" : "add",
          path: "members",
          value: [{ value: `member-${index}` }],
        })),
      },
    }),
  },
  {
    name: "templates of the project",
    by: "tenant",
    base: 1,
    path: () => "/apis/management.postern/v1/projects/tenant/templates",
  },
];
