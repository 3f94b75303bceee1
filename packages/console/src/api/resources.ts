// The resources that the console shows: their addresses, and the fields that it reads.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { ResourceAddress } from "@postern/client/resource-client";
import { settings } from "../settings.ts";

export type Condition = {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
};

export type KeyScope = {
  readonly roles?: readonly {
    readonly role: string;
    readonly projects?: readonly string[];
    readonly virtualClusters?: readonly string[];
  }[];
  readonly projects?: readonly { readonly project: string }[];
  readonly virtualClusters?: readonly { readonly project: string; readonly virtualCluster: string }[];
  readonly spaces?: readonly { readonly project: string; readonly space: string }[];
  readonly clusters?: readonly { readonly cluster: string }[];
  readonly rules?: readonly JsonObject[];
};

export type AccessKey = KubeObject & {
  readonly spec?: {
    readonly displayName?: string;
    readonly description?: string;
    readonly user?: string;
    readonly team?: string;
    readonly subject?: string;
    readonly groups?: readonly string[];
    /** Only in the response to a create. */
    readonly key?: string;
    readonly disabled?: boolean;
    readonly ttl?: number;
    readonly ttlAfterLastActivity?: boolean;
    readonly scope?: KeyScope;
    readonly rules?: readonly JsonObject[];
    readonly type?: string;
    readonly secretRef?: { readonly namespace: string; readonly name: string; readonly key?: string };
  };
  readonly status?: {
    readonly lastActivity?: string;
    readonly expirationTimestamp?: string;
    readonly conditions?: readonly Condition[];
    readonly issuedBy?: { readonly rule?: string; readonly issuer?: string; readonly subject?: string };
  };
};

type Owner = { readonly user?: string; readonly team?: string };

export const ownerName = (owner: Owner | undefined): string => owner?.user ?? owner?.team ?? "";

export type VirtualCluster = KubeObject & {
  readonly spec?: {
    readonly displayName?: string;
    readonly description?: string;
    readonly owner?: Owner;
    readonly external?: boolean;
    readonly clusterRef?: { readonly cluster?: string };
    readonly access?: readonly {
      readonly verbs?: readonly string[];
      readonly subresources?: readonly string[];
      readonly users?: readonly string[];
      readonly teams?: readonly string[];
    }[];
    readonly extraAccessRules?: readonly {
      readonly users?: readonly string[];
      readonly teams?: readonly string[];
      readonly clusterRole?: string;
    }[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly kubernetesVersion?: string;
    readonly conditions?: readonly Condition[];
  };
};

/** A host cluster: the built-in one or a connected one. */
export type Cluster = KubeObject & {
  readonly spec?: {
    readonly displayName?: string;
    readonly description?: string;
    readonly owner?: Owner;
    readonly local?: boolean;
    readonly usable?: boolean;
    readonly managementNamespace?: string;
    readonly kubeConfigRef?: SecretRef;
  };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly version?: string;
  };
};

export type SecretRef = { readonly secretNamespace?: string; readonly secretName?: string; readonly key?: string };

export type Project = KubeObject & {
  readonly spec?: {
    readonly displayName?: string;
    readonly description?: string;
    readonly owner?: Owner;
    readonly members?: readonly Member[];
    readonly allowedClusters?: readonly { readonly name: string }[];
    readonly quotas?: { readonly project?: { readonly [resource: string]: string } };
  };
  readonly status?: {
    readonly phase?: string;
    readonly message?: string;
    readonly quotas?: JsonObject;
  };
};

export type Member = {
  readonly kind?: string;
  readonly group?: string;
  readonly name?: string;
  readonly clusterRole?: string;
};

export type User = KubeObject & {
  readonly spec?: {
    readonly kind?: string;
    readonly displayName?: string;
    readonly description?: string;
    readonly username?: string;
    readonly email?: string;
    readonly subject?: string;
    readonly groups?: readonly string[];
    readonly identities?: readonly { readonly provider: string; readonly subject: string }[];
    readonly disabled?: boolean;
  };
  readonly status?: { readonly teams?: readonly string[] };
};

export type Team = KubeObject & {
  readonly spec?: {
    readonly displayName?: string;
    readonly description?: string;
    readonly owner?: Owner;
    readonly users?: readonly string[];
    readonly groups?: readonly string[];
  };
};

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

export type TrustRule = KubeObject & {
  readonly spec?: {
    readonly displayName?: string;
    readonly description?: string;
    readonly disabled?: boolean;
    readonly issuer?: { readonly preset?: string; readonly url?: string; readonly jwks?: string };
    readonly audiences?: readonly string[];
    readonly claims?: readonly { readonly claim: string; readonly values: readonly string[] }[];
    readonly conditions?: readonly { readonly expression: string; readonly message?: string }[];
    readonly singleUse?: boolean;
    readonly user?: string;
    readonly scope?: KeyScope;
    readonly rules?: readonly JsonObject[];
    readonly ttl?: number;
  };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly keysFetchedTime?: string;
    readonly keyIDs?: readonly string[];
  };
};

/** Set unless the server chooses the cluster. */
export type ClaimMapping = { readonly claim?: string; readonly expression?: string; readonly prefix?: string };

export type IdentityProvider = KubeObject & {
  readonly spec?: {
    readonly displayName?: string;
    readonly description?: string;
    readonly disabled?: boolean;
    readonly issuer?: { readonly url?: string; readonly certificateAuthority?: string };
    readonly clientId?: string;
    readonly clientSecretRef?: SecretRef;
    readonly claimMappings?: { readonly [member in "username" | "groups" | "uid"]?: ClaimMapping };
    readonly linkUsers?: boolean;
    readonly allowedGroups?: readonly string[];
    readonly teams?: readonly string[];
    readonly createUsers?: boolean;
    readonly sessionTTL?: number;
    readonly inactivityTTL?: number;
  };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly redirectURI?: string;
    readonly backChannelLogoutURI?: string;
  };
};

export type Named = KubeObject & {
  readonly spec?: { readonly displayName?: string; readonly users?: readonly string[] };
};

/** An item of the subresource `credentials`. */
export type Credential = {
  readonly id: string;
  readonly kind: "AccessKey" | "Certificate";
  readonly name?: string;
  readonly type?: string;
  readonly owner?: string;
  readonly subject?: string;
  readonly virtualCluster?: string;
  readonly parents?: readonly string[];
  readonly creationTimestamp?: string;
  readonly expirationTimestamp?: string;
  readonly lastActivity?: string;
  /** `Cluster` for a certificate that the cluster itself verifies, so that it cannot be revoked. */
  readonly enforcedBy?: string;
};

/** The recorded use of one resource. */
export type ResourceUse = {
  /** A scope with one entry; absent for the management API. */
  readonly target?: KeyScope;
  readonly apiGroup: string;
  readonly resource: string;
  readonly verbs: readonly string[];
};

export type Explanation = {
  readonly refusal?: string;
  readonly remedies?: readonly string[];
  readonly usedSince?: string;
  readonly leastScope?: KeyScope;
  readonly beyondScopes?: readonly string[];
  readonly isUsageComplete?: boolean;
  readonly uses?: readonly ResourceUse[];
  readonly allowed?: boolean;
  readonly request?: string;
  readonly steps?: readonly { readonly step: string; readonly passed: boolean; readonly reason: string }[];
};

const management = (resource: string): ResourceAddress => ({
  group: settings.managementGroup,
  version: "v1",
  resource,
});

export const ACCESS_KEYS = management("ownedaccesskeys");
export const VIRTUAL_CLUSTERS = management("virtualclusterinstances");
export const SPACES = management("spaceinstances");
export const PROJECTS = management("projects");
export const CLUSTERS = management("clusters");
export const USERS = management("users");
export const TEAMS = management("teams");
export const TRUST_RULES = management("trustrules");
export const CLUSTER_TRUST_RULES = management("clustertrustrules");
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
