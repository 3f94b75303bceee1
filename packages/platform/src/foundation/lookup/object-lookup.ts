// Lookup of objects of other resources, in memory.

import type { Cluster } from "@postern/api/cluster";
import type { Owner } from "@postern/api/owner";
import type { PlatformNames } from "@postern/api/platform-names";
import type { Project } from "@postern/api/project";
import type { SpaceInstance } from "@postern/api/space-instance";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import type { VirtualClusterTemplate } from "@postern/api/virtual-cluster-template";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { RBAC_GROUP } from "@postern/apiserver/authorization/rbac/policy-rule";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import type { ResourceRegistry } from "@postern/apiserver/registry/resource-registry";
import { ParsedObjects } from "@postern/apiserver/registry/store/parsed-objects";

export type ObjectLookup = {
  /** Undefined when there is none of that name. */
  project(name: string): Project | undefined;
  cluster(name: string): Cluster | undefined;
  clusterRole(name: string): KubeObject | undefined;
  virtualClusterInstance(namespace: string, name: string): VirtualClusterInstance | undefined;
  virtualClusterTemplate(name: string): VirtualClusterTemplate | undefined;
  spaceInstance(namespace: string, name: string): SpaceInstance | undefined;
  secret(namespace: string, name: string): KubeObject | undefined;
  /** How many there are in a namespace. */
  countIn(plural: "virtualclusterinstances" | "spaceinstances", namespace: string): number;
  /** The owner of each that there is in a namespace. */
  ownersIn(plural: "virtualclusterinstances" | "spaceinstances", namespace: string): readonly (Owner | undefined)[];
  /** Resolves when memory shows all that the store had before the call: another server may have written it. */
  refresh(signal: AbortSignal): Promise<void>;
  /** By name. */
  clusters(): readonly Cluster[];
  /** By name. */
  virtualClusterTemplates(): readonly VirtualClusterTemplate[];
};

const readOwner = createMemberReader({ spec: { owner: true } });

/** Every request to a virtual cluster asks for its instance, its cluster and its project, and for the Secret of a cluster that others run. */
const REMEMBERED = { bytes: 4 * 1024 * 1024, objects: 2_000 };

/** The registry is asked when something is looked up, so that the resources may be made before it. Objects are shared: do not change them. */
export function createObjectLookup(
  registry: () => ResourceRegistry,
  { managementGroup }: Pick<PlatformNames, "managementGroup">,
  refresh: (signal: AbortSignal) => Promise<unknown>,
): ObjectLookup {
  const parsed = new ParsedObjects(REMEMBERED);
  const find = (plural: string, group = managementGroup) => registry().find(group, "v1", plural);
  function get(plural: string, namespace: string, name: string, group?: string): KubeObject | undefined {
    const resource = find(plural, group);
    const found = resource?.view.get(resource.keys.of(namespace, name));
    return found && parsed.of(found);
  }
  function all(plural: string): readonly KubeObject[] {
    const resource = find(plural);
    return resource?.view.list(resource.keys.prefix).map((object) => object.decode()) ?? [];
  }
  function inNamespace(plural: string, namespace: string): readonly CachedObject[] {
    const resource = find(plural);
    return resource?.view.list(resource.keys.inNamespace(namespace)) ?? [];
  }
  // Stored objects have gone through the schema of their kind.
  return {
    project: (name) => get("projects", "", name) as Project | undefined,
    cluster: (name) => get("clusters", "", name) as Cluster | undefined,
    clusterRole: (name) => get("clusterroles", "", name, RBAC_GROUP),
    virtualClusterInstance: (namespace, name) =>
      get("virtualclusterinstances", namespace, name) as VirtualClusterInstance | undefined,
    virtualClusterTemplate: (name) => get("virtualclustertemplates", "", name) as VirtualClusterTemplate | undefined,
    spaceInstance: (namespace, name) => get("spaceinstances", namespace, name) as SpaceInstance | undefined,
    secret: (namespace, name) => get("secrets", namespace, name, ""),
    countIn: (plural, namespace) => inNamespace(plural, namespace).length,
    ownersIn: (plural, namespace) =>
      inNamespace(plural, namespace).map((object) => {
        const { spec } = object.read(readOwner) as { readonly spec?: { readonly owner?: Owner } };
        return spec?.owner;
      }),
    refresh: async (signal) => void (await refresh(signal)),
    clusters: () => all("clusters") as readonly Cluster[],
    virtualClusterTemplates: () => all("virtualclustertemplates") as readonly VirtualClusterTemplate[],
  };
}
