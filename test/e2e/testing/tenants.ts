// The objects of tenants that a platform team takes on: for each a user, a team, a project, and what lies in the project's namespace.

const GROUP = "management.postern/v1";
const RBAC = "rbac.authorization.k8s.io";

/** How many a test takes on. */
export const TENANTS = Number(process.env["ONBOARDED_TENANTS"] ?? 10);

export type Manifest = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
};

export const manifest = (
  apiVersion: string,
  kind: string,
  name: string,
  rest: object = {},
  namespace?: string,
): Manifest => ({
  apiVersion,
  kind,
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
  ...rest,
});

/** In the order in which a person would write them. */
export const tenant = (name: string): readonly Manifest[] => {
  const namespace = `p-${name}`;
  return [
    manifest(GROUP, "User", `${name}-lead`, { spec: { displayName: "Lead" } }),
    manifest(GROUP, "Team", name, { spec: { users: [`${name}-lead`] } }),
    manifest(GROUP, "Project", name, {
      spec: {
        members: [{ kind: "Team", name, clusterRole: "postern:project-user" }],
        allowedClusters: [{ name: "embedded" }],
      },
    }),
    manifest(
      RBAC.concat("/v1"),
      "Role",
      "events",
      { rules: [{ apiGroups: [""], resources: ["events"], verbs: ["get", "list"] }] },
      namespace,
    ),
    manifest(
      RBAC.concat("/v1"),
      "RoleBinding",
      "events",
      {
        roleRef: { apiGroup: RBAC, kind: "Role", name: "events" },
        subjects: [{ apiGroup: RBAC, kind: "Group", name: `postern:team:${name}` }],
      },
      namespace,
    ),
    manifest(GROUP, "VirtualClusterInstance", "dev", { spec: { owner: { team: name } } }, namespace),
    manifest(GROUP, "OwnedAccessKey", `${name}-ci`, {
      spec: { team: name, ttl: 3600, scope: { virtualClusters: [{ project: name, virtualCluster: "dev" }] } },
    }),
  ];
};

export const tenants = (prefix: string, count: number): readonly Manifest[] =>
  Array.from({ length: count }).flatMap((_, index) => tenant(`${prefix}${index}`));

/** One file of JSON documents. */
export const documents = (manifests: readonly Manifest[]): string =>
  manifests.map((each) => JSON.stringify(each)).join("\n---\n");
