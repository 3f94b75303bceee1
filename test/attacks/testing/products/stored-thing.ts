// A kind of things that a tenant can store in numbers, and the pieces that their manifests are made of.

/** Creates one object as the tenant; false where a limit of the server refuses it. */
type Store = (path: string, body: object) => Promise<boolean>;

/** A webhook that converts objects by giving them another apiVersion, where one is there. */
type ConversionWebhook = { readonly url: string; readonly caBundle: string };

export type StoredThing = {
  readonly name: string;
  /** Where the objects are: in the tenant's embedded cluster, or in its project of the management API. */
  readonly place: "cluster" | "project";
  /** `directory`: by a key that provisions users and teams over SCIM. Default: the tenant. */
  readonly by?: "directory";
  /** How the cluster treats workloads. Default: it stores them. */
  readonly workloads?: "controlled";
  /** Both are doubled. */
  readonly base: { readonly count: number; readonly size: number };
  /** Creates objects that have to be there once. */
  readonly before?: (store: Store, size: number, webhook?: ConversionWebhook) => Promise<boolean>;
  readonly path: string;
  /** Applied by this manager instead of created, where it is set. */
  readonly manager?: (index: number) => string;
  object(index: number, size: number): object;
};

/** The user whose requests the roles and bindings are about. */
export const SUBJECT = "a-user";
export const RBAC = "apis/rbac.authorization.k8s.io/v1";
export const RBAC_GROUP = "rbac.authorization.k8s.io";
export const ADMISSION = "apis/admissionregistration.k8s.io/v1";
export const DEFINITIONS = "apis/apiextensions.k8s.io/v1/customresourcedefinitions";
export const DEFAULT = "api/v1/namespaces/default";
export const SPACES = "/apis/management.postern/v1/namespaces/p-tenant/spaceinstances";
export const ITEMS = "apis/products.example/v1/columnars";

/** Of another cluster, as its kube-apiserver names it. */
export const hostGroup = (index: number): string => `g${index}`;
export const range = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);
export const members = (count: number, value: unknown): object =>
  Object.fromEntries(range(count).map((index) => [`k${index}`, value]));
export const rules = (count: number, group: string): readonly object[] =>
  range(count).map((index) => ({ verbs: ["get"], apiGroups: [`${group}.example`], resources: [`r${index}`] }));
export const roleRef = (kind: string, name: string): object => ({ kind, name, apiGroup: RBAC_GROUP });
export const subject = { kind: "User", name: SUBJECT, apiGroup: RBAC_GROUP };
export const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
export const configMaps = [{ apiGroups: [""], apiVersions: ["v1"], operations: ["*"], resources: ["configmaps"] }];
export const selector = (size: number): object => ({
  matchExpressions: range(size).map((index) => ({ key: `k${index}`, operator: "NotIn", values: ["x"] })),
});
export const elsewhere = [
  { apiGroups: ["elsewhere.example"], apiVersions: ["v1"], operations: ["*"], resources: ["nothings"] },
];
