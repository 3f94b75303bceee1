// All names that contain the platform's domain.

/** The part of the store with the objects of the management API. */
export const MANAGEMENT = "management";

export type PlatformNames = {
  /** Such as `postern`, or `loft.sh`. */
  readonly domain: string;
  /** The prefix of groups and built-in roles: `postern`, or `loft`. */
  readonly name: string;
  /** `management.<domain>`. */
  readonly managementGroup: string;
  /** `storage.<domain>`. */
  readonly storageGroup: string;
  /** Prefix of project namespaces. */
  readonly projectNamespacePrefix: string;
  /** The group of the administrators. */
  readonly adminsGroup: string;
  /** The group of all requests with an access key, beside system:authenticated. */
  readonly authenticatedGroup: string;
  userGroup(user: string): string;
  teamGroup(team: string): string;
  /** The group that represents a ClusterRole inside a virtual cluster. */
  insideRoleGroup(clusterRole: string): string;
  /** The group of a credential for which an access request, by its uid, was approved. */
  accessRequestGroup(uid: string): string;
  /** A label or annotation key of the platform's own. */
  key(name: string): string;
  /** A built-in ClusterRole, such as `postern:project-user`. */
  role(name: string): string;
  projectNamespace(project: string): string;
  /** The project that a namespace belongs to; undefined for other namespaces. */
  projectOf(namespace: string): string | undefined;
};

export function createPlatformNames(options: {
  readonly domain: string;
  readonly name: string;
  readonly projectNamespacePrefix: string;
}): PlatformNames {
  const { domain, name, projectNamespacePrefix } = options;
  return {
    domain,
    name,
    projectNamespacePrefix,
    managementGroup: `management.${domain}`,
    storageGroup: `storage.${domain}`,
    adminsGroup: `${name}:admins`,
    authenticatedGroup: `${name}:authenticated`,
    userGroup: (user) => `${name}:user:${user}`,
    teamGroup: (team) => `${name}:team:${team}`,
    insideRoleGroup: (clusterRole) => `${name}:role:${clusterRole}`,
    accessRequestGroup: (uid) => `${name}:access-request:${uid}`,
    key: (suffix) => `${domain}/${suffix}`,
    role: (suffix) => `${name}:${suffix}`,
    projectNamespace: (project) => `${projectNamespacePrefix}${project}`,
    projectOf: (namespace) =>
      namespace.startsWith(projectNamespacePrefix) && namespace.length > projectNamespacePrefix.length
        ? namespace.slice(projectNamespacePrefix.length)
        : undefined,
  };
}
