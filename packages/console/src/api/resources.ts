// The resources that the console shows: their addresses, and the kinds that are not the platform's own.

import type { Owner } from "@postern/api/owner";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { ResourceAddress } from "@postern/client/resource-client";
import { settings } from "../settings.ts";

export type PolicyRule = {
  readonly verbs?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
};

export type ClusterRole = KubeObject & {
  readonly rules?: readonly PolicyRule[] | null;
  /** The server fills in the rules. */
  readonly aggregationRule?: JsonObject;
};

export type ClusterRoleBinding = KubeObject & {
  readonly roleRef?: { readonly name?: string };
  readonly subjects?: readonly { readonly kind?: string; readonly name?: string; readonly namespace?: string }[];
};

const management = (resource: string): ResourceAddress => ({
  group: settings.managementGroup,
  version: "v1",
  resource,
});

export const ACCESS_KEYS = management("ownedaccesskeys");
export const VIRTUAL_CLUSTERS = management("virtualclusterinstances");
export const KUBECONFIG_GENERATORS = management("kubeconfiggenerators");
export const SPACES = management("spaceinstances");
export const PROJECTS = management("projects");
export const CLUSTERS = management("clusters");
export const USERS = management("users");
export const TEAMS = management("teams");
export const TRUST_RULES = management("trustrules");
export const CLUSTER_TRUST_RULES = management("clustertrustrules");
export const ACCESS_REQUESTS = management("accessrequests");
export const ACCESS_POLICIES = management("accesspolicies");
export const CLUSTER_ACCESS_POLICIES = management("clusteraccesspolicies");
export const IDENTITY_PROVIDERS = management("identityproviders");

const rbac = (resource: string): ResourceAddress => ({ group: "rbac.authorization.k8s.io", version: "v1", resource });

export const CLUSTER_ROLES = rbac("clusterroles");
export const CLUSTER_ROLE_BINDINGS = rbac("clusterrolebindings");

const core = (resource: string): ResourceAddress => ({ group: "", version: "v1", resource });

export const EVENTS = core("events");
export const NAMESPACES = core("namespaces");
export const SECRETS = core("secrets");

/** The same resource in one namespace. */
export const inNamespace = (address: ResourceAddress, namespace: string): ResourceAddress => ({
  ...address,
  namespace,
});

export const managementVersion = `${settings.managementGroup}/v1`;

export const nameOf = ({ metadata }: KubeObject): string => metadata.name ?? "";

/** An object that may have a name for people. */
export type Titled = KubeObject & { readonly spec?: { readonly displayName?: string } };

/** Its name for people, or else its name. */
export const titleOf = (object: Titled): string => object.spec?.displayName || nameOf(object);

export const ownerName = (owner: Owner | undefined): string => owner?.user ?? owner?.team ?? "";
