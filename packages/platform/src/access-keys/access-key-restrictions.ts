// What a key is narrowed to, read from both places in which a record may say so.

export type ScopeRole = {
  /** The canonical name: `agent`, `vcluster`, `network-peer`, `platform-cli`, `workspace`, `metrics-writer`, `metrics-reader`. */
  readonly role: string;
  readonly projects: readonly string[];
  readonly virtualClusters: readonly string[];
};

/** `*` counts only as a whole value; everything else is compared exactly. */
export type AccessKeyScope = {
  readonly roles: readonly ScopeRole[];
  readonly projects: readonly { readonly project: string }[];
  readonly spaces: readonly { readonly project: string; readonly space: string }[];
  readonly virtualClusters: readonly { readonly project: string; readonly virtualCluster: string }[];
  readonly clusters: readonly { readonly cluster: string }[];
};

export type RequestTarget = "Management" | "Cluster" | "ProjectSpace" | "ProjectVirtualCluster";

/** One deprecated rule, as the interface describes it. An empty list leaves its field open. */
export type AccessKeyRule = {
  readonly verbs: readonly string[];
  readonly resources: readonly {
    readonly group: string;
    readonly resources: readonly string[];
    readonly resourceNames: readonly string[];
  }[];
  readonly namespaces: readonly string[];
  readonly nonResourceURLs: readonly string[];
  readonly requestTargets: readonly RequestTarget[];
  readonly cluster: string;
  readonly virtualClusters: readonly { readonly name: string; readonly namespace: string }[];
};

/** Each part that is present must open a request; at least one of them is. */
export type AccessKeyRestrictions = {
  readonly scope: AccessKeyScope | undefined;
  /** Rule sets of which each must have a rule that matches: `spec.rules`, and `spec.scope.rules` of existing clients. */
  readonly ruleSets: readonly (readonly AccessKeyRule[])[];
};
