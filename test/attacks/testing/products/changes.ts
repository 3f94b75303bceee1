// Objects that controllers of a cluster look at when one comes or goes: collection of garbage, quota, aggregation, namespaces, and the rest.

const RBAC = "apis/rbac.authorization.k8s.io/v1";
type Named = {
  readonly metadata: { readonly name: string; readonly labels?: object };
  readonly [field: string]: unknown;
};

const metadata = { name: "changed" };

export const CHANGES: readonly { readonly path: string; readonly body: Named }[] = [
  { path: "api/v1/namespaces", body: { metadata } },
  { path: "api/v1/namespaces/default/configmaps", body: { metadata } },
  { path: "api/v1/namespaces/default/serviceaccounts", body: { metadata } },
  { path: "api/v1/namespaces/default/services", body: { metadata, spec: { ports: [{ port: 1 }] } } },
  {
    path: "api/v1/namespaces/default/resourcequotas",
    body: { metadata, spec: { hard: { "count/configmaps": "9000" } } },
  },
  { path: `${RBAC}/clusterroles`, body: { metadata: { ...metadata, labels: { part: "yes", k0: "v" } }, rules: [] } },
];
