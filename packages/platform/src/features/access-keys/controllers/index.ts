// Controllers of access keys, in three parts that start one after the other.

import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import type { Foundation } from "../../../foundation/foundation.ts";
import type { CertificateLedger } from "../../certificates/certificate-ledger.ts";
import { type AccessKeys, DAY_MS } from "../feature.ts";
import { createAccessKeyConditions } from "./access-key-conditions.ts";
import { createAccessKeyGracePeriods } from "./access-key-grace-periods.ts";
import { createAccessKeyOwners } from "./access-key-owners.ts";
import { createAccessKeyReaper } from "./access-key-reaper.ts";
import { createEndedCertificates, createRetiredValues } from "./ended-credentials.ts";
import { createValueClaimController } from "./unique-values.ts";

type Needs = { readonly keys: AccessKeys };

/** Delete keys that are over. */
export function keyEndControllers(
  port: ControllerPort,
  { configuration, own }: Foundation,
  { keys: { index: keys, records: keyRecords } }: Needs,
): readonly Controller[] {
  const accessKeys = own("OwnedAccessKey");
  const { keepExpiredSeconds } = configuration.accessKeys;
  return [
    createAccessKeyGracePeriods({ port, accessKeys, keys, keyRecords }),
    createAccessKeyReaper({ port, accessKeys, keys, keepExpiredSeconds }),
  ];
}

/** Keep what is written beside keys true, and delete those without an owner. */
export function keyRecordControllers(
  port: ControllerPort,
  { configuration, storage, records, own }: Foundation,
  { keys: { index: keys, records: keyRecords } }: Needs,
): readonly Controller[] {
  const users = own("User");
  const rememberMs = configuration.accessKeys.rememberValuesDays * DAY_MS;
  return [
    createAccessKeyConditions({ port, keys, keyRecords, storage, users }),
    createValueClaimController({ port, keys, claims: records("key-values"), storage, rememberMs }),
    createAccessKeyOwners({ port, accessKeys: own("OwnedAccessKey"), users, teams: own("Team"), keys }),
  ];
}

/** Forget values and certificates that have ended. */
export const endedCredentialControllers = (
  port: ControllerPort,
  { keys, certificates }: Needs & { readonly certificates: CertificateLedger },
): readonly Controller[] => [createRetiredValues(port, keys), createEndedCertificates(port, { certificates })];
