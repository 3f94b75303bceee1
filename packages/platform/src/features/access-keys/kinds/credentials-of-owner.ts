// The credentials of an owner, and of a virtual cluster.

import type { PlatformNames } from "@postern/api/platform-names";
import { notFoundError } from "@postern/apimachinery/meta/api-error";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ObjectLookup } from "../../../foundation/lookup/object-lookup.ts";
import type { CertificateLedger } from "../../certificates/certificate-ledger.ts";
import type { Directory } from "../../directory/directory.ts";
import type { AccessKeyState } from "../access-key-state.ts";
import type { AccessKeyIndex } from "../index/access-key-index.ts";
import { isLimitedToVirtualClusters } from "./credential-entries.ts";
import type { CredentialSubject } from "./credentials-subresource.ts";

type Sources = {
  readonly names: PlatformNames;
  readonly keys: AccessKeyIndex;
  readonly certificates: Pick<CertificateLedger, "ownedBy" | "ofInstance">;
};

export function credentialsOfOwner(
  kind: "user" | "team",
  { info: { name } }: RequestContext,
  { names, keys, certificates, directory }: Sources & { readonly directory: Directory },
): CredentialSubject {
  const holder = kind === "user" ? directory.user(name) : directory.team(name);
  if (holder === undefined) throw notFoundError({ group: names.managementGroup, resource: `${kind}s` }, name);
  const owner = { kind, name };
  return { keys: keys.ownedBy(owner), certificates: certificates.ownedBy(owner) };
}

/** Its certificates, and the keys that are refused but it: those of its kubeconfigs. Keys that reach further are their owners'. */
export function credentialsOfInstance(
  { info: { namespace, name } }: RequestContext,
  {
    names,
    certificates,
    lookup,
    allKeys,
  }: Sources & {
    readonly lookup: Pick<ObjectLookup, "virtualClusterInstance">;
    readonly allKeys: () => Iterable<AccessKeyState>;
  },
): CredentialSubject {
  const instance = lookup.virtualClusterInstance(namespace, name);
  if (instance === undefined) {
    throw notFoundError({ group: names.managementGroup, resource: "virtualclusterinstances" }, name);
  }
  const project = names.projectOf(namespace);
  const found: AccessKeyState[] = [];
  for (const key of allKeys()) {
    const scope = key.restrictions?.scope;
    if (scope === undefined || scope.virtualClusters.length === 0) continue;
    const isThis = scope.virtualClusters.every((entry) => entry.project === project && entry.virtualCluster === name);
    if (isThis && isLimitedToVirtualClusters(scope)) found.push(key);
  }
  return { keys: found, certificates: certificates.ofInstance(instance.metadata.uid ?? "") };
}
