// What the audit log always keeps, and what it never does, whatever the policy says: requests that hand out credentials.

import { bearsSecretsByDefault } from "@postern/apiserver/audit/audit-backend";
import type { AuditPolicy } from "@postern/apiserver/audit/audit-policy";
import type { RequestInfo } from "@postern/apiserver/request/request-info";
import type { PlatformNames } from "../platform-names.ts";

type Groups = Pick<PlatformNames, "managementGroup" | "storageGroup">;

/** Subresources of the management group that answer with a key or a kube config. */
const ISSUING: ReadonlySet<string> = new Set(["kubeconfig", "accesskey", "rotate"]);
/** Resources of the platform whose bodies hold keys. */
const KEYS: ReadonlySet<string> = new Set(["ownedaccesskeys", "accesskeys", "selves"]);
/** What is asked behind a proxy is not known here, so that it is taken for secret. */
const PROXIES = /^\/+kubernetes\/+(project|cluster)(\/|$)/;

/** Issuing is recorded at the level Metadata at least: who got which credential, when and by whom. */
export const alwaysRecordingCredentials =
  (policy: AuditPolicy, groups: Groups): AuditPolicy =>
  (user, info) => {
    const decision = policy(user, info);
    if (!issuesCredentials(info, groups)) return decision;
    return {
      level: decision.level === "None" ? "Metadata" : decision.level,
      omitStages: decision.omitStages.filter((stage) => stage !== "ResponseComplete" && stage !== "Panic"),
    };
  };

export function issuesCredentials(info: RequestInfo, groups: Groups): boolean {
  const { isResourceRequest, apiGroup, resource, subresource, verb } = info;
  if (!isResourceRequest || (apiGroup !== groups.managementGroup && apiGroup !== groups.storageGroup)) return false;
  if (subresource !== "") return ISSUING.has(subresource);
  const isWrite = verb === "create" || verb === "update" || verb === "patch";
  return isWrite && (resource === "ownedaccesskeys" || resource === "accesskeys");
}

/** Bodies of these are never kept. */
export const bearsSecrets =
  (groups: Groups) =>
  (info: RequestInfo): boolean => {
    const { apiGroup, resource, subresource, path } = info;
    if (bearsSecretsByDefault(info) || PROXIES.test(path)) return true;
    if (apiGroup !== groups.managementGroup && apiGroup !== groups.storageGroup) return false;
    return KEYS.has(resource) || ISSUING.has(subresource);
  };
