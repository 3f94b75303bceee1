// The resources that views show: where they are, and the fields that views read.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { ResourceAddress } from "@postern/client/resource-client";
import { settings } from "../settings.ts";

type Condition = {
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
    /** Only in the answer to the create. */
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

export type Project = KubeObject & {
  readonly spec?: {
    readonly displayName?: string;
    readonly description?: string;
    readonly owner?: Owner;
    readonly members?: readonly { readonly kind?: string; readonly name?: string; readonly clusterRole?: string }[];
  };
};

export type Named = KubeObject & {
  readonly spec?: { readonly displayName?: string; readonly users?: readonly string[] };
};

/** What `credentials` below an object lists. */
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
};

export type Explanation = {
  readonly refusal?: string;
  readonly remedies?: readonly string[];
  readonly usedSince?: string;
  readonly leastScope?: KeyScope;
  readonly beyondScopes?: readonly string[];
  readonly isUsageComplete?: boolean;
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
export const EVENTS: ResourceAddress = { group: "", version: "v1", resource: "events" };

/** The same resource in one namespace. */
export const inNamespace = (address: ResourceAddress, namespace: string): ResourceAddress => ({
  ...address,
  namespace,
});

export const managementVersion = `${settings.managementGroup}/v1`;

export const nameOf = ({ metadata }: KubeObject): string => metadata.name ?? "";
