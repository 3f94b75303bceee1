// A credential as an entry of a list.

import type { AccessKeyScope } from "@postern/api/access-key-restrictions";
import type { PlatformNames } from "@postern/api/platform-names";
import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { ControlledResource } from "@postern/apiserver/controllers/controller-port";
import type { CertificateLedger } from "../../certificates/certificate-ledger.ts";
import { type IssuedCertificate, parentUidsOf } from "../../certificates/issued-certificate.ts";
import type { AccessKeyState } from "../access-key-state.ts";
import type { AccessKeyIndex } from "../index/access-key-index.ts";
import type { LastActivity } from "../last-use/last-activity.ts";

export type EntryDeps = {
  readonly names: PlatformNames;
  readonly keys: AccessKeyIndex;
  readonly certificates: CertificateLedger;
  /** The records of `ownedaccesskeys`. */
  readonly accessKeys: Pick<ControlledResource, "keys" | "view">;
  readonly activity: Pick<LastActivity, "written">;
};

/** True where nothing but entries of `virtualClusters` is in the scope. */
export const isLimitedToVirtualClusters = ({ projects, spaces, clusters, roles }: AccessKeyScope): boolean =>
  projects.length + spaces.length + clusters.length + roles.length === 0;

export const idOfCertificate = (serial: string): string => `serial:${serial}`;

export function keyEntry(key: AccessKeyState, deps: EntryDeps): JsonObject {
  const { accessKeys } = deps;
  const record = accessKeys.view.get(accessKeys.keys.of("", key.name))?.decode();
  const creationTimestamp = record?.metadata.creationTimestamp ?? undefined;
  const status = record?.["status"];
  const { lastActivity: before, issuedBy } = isJsonObject(status) ? status : {};
  const usedAt = deps.activity.written(key);
  // A record of an earlier release has it itself.
  const lastActivity = usedAt === undefined ? before : formatTimestamp(usedAt);
  return {
    id: key.id,
    kind: "AccessKey",
    name: key.name,
    ...(key.type === "" ? {} : { type: key.type }),
    owner: `${key.owner.kind}/${key.owner.name}`,
    ...virtualClusterOf(key),
    parents: key.parentUids.flatMap((uid) => idOf(uid, deps)),
    ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
    ...(key.expiresAt === undefined ? {} : { expirationTimestamp: formatTimestamp(key.expiresAt) }),
    ...(typeof lastActivity === "string" ? { lastActivity } : {}),
    ...(issuedBy === undefined ? {} : { issuedBy }),
  };
}

export function certificateEntry(certificate: IssuedCertificate, deps: EntryDeps): JsonObject {
  const { serial, commonName, issuedTo, issuedAt, notAfter, isVerifiedElsewhere } = certificate;
  const use = deps.certificates.lastUseOf(serial);
  const holder =
    issuedTo === undefined
      ? {}
      : {
          owner: `${issuedTo.owner.kind}/${issuedTo.owner.name}`,
          virtualCluster: `${issuedTo.project}/${issuedTo.virtualCluster}`,
        };
  return {
    id: idOfCertificate(serial),
    kind: "Certificate",
    ...holder,
    subject: commonName,
    parents: parentUidsOf(certificate).flatMap((uid) => idOf(uid, deps)),
    creationTimestamp: formatTimestamp(issuedAt),
    expirationTimestamp: formatTimestamp(notAfter),
    ...(use === undefined ? {} : { lastActivity: formatTimestamp(use.at) }),
    ...(isVerifiedElsewhere === true ? { enforcedBy: "Cluster" } : {}),
  };
}

/** Only of a key that opens a single virtual cluster and nothing else, as the keys in kubeconfigs do. */
export function virtualClusterOf({ restrictions }: AccessKeyState): { readonly virtualCluster?: string } {
  const scope = restrictions?.scope;
  const [only, ...more] = scope?.virtualClusters ?? [];
  if (scope === undefined || only === undefined || !isLimitedToVirtualClusters(scope)) return {};
  // One may be there several times, with other labels.
  const isSame = more.every((entry) => entry.project === only.project && entry.virtualCluster === only.virtualCluster);
  const isOne = isSame && only.project !== "*" && only.virtualCluster !== "*" && only.virtualCluster !== "";
  return isOne ? { virtualCluster: `${only.project}/${only.virtualCluster}` } : {};
}

function idOf(uid: string, { keys }: EntryDeps): readonly string[] {
  const id = keys.byUid(uid)?.id;
  return id === undefined ? [] : [id];
}
